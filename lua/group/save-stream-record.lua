-- Writes the record of a stream, if it is still the one that was read.
--
-- KEYS[1]  hash    the stream's record: revision, shardCount, consumerGroups, formerLives
-- ARGV[1]  number  revision that was read, empty: the record must not exist
-- ARGV[2]  count   shards
-- ARGV[3]  JSON    list of consumer groups, empty: remove the record
-- ARGV[4]  JSON    by deleted group: when its members have stopped at the latest, ms of the Redis clock
--
-- Returns 1 when written, 0 when another record is stored.
--
-- Atomic because two groups that register at once must both be in the record.

local recorded = redis.call('HGET', KEYS[1], 'revision')
if ARGV[1] == '' then
  if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
elseif recorded ~= ARGV[1] then
  return 0
end
if ARGV[3] == '' then
  redis.call('DEL', KEYS[1])
  return 1
end
-- From the clock: a record that is removed and made again never repeats a revision.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local revision = math.max((tonumber(ARGV[1]) or 0) + 1, now)
redis.call('HSET', KEYS[1], 'revision', string.format('%.0f', revision), 'shardCount', ARGV[2],
  'consumerGroups', ARGV[3], 'formerLives', ARGV[4])
return 1
