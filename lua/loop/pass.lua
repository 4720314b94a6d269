-- Records that an event loop passed, starts a quiet period where one is due, and tells which groups are due.
--
-- KEYS[1]  hash        the loop's record: lastPassMs, quietCausedAtMs, quietUntilMs, coordinatorId, redisId, lossUntilMs
-- KEYS[2]  sorted set  groups by the time at which the loop must look at them, in ms
-- ARGV[1]  text        id of the coordinator that passes
-- ARGV[2]  ms          time without any pass that counts as an outage
-- ARGV[3]  ms          length of a quiet period
-- ARGV[4]  flag        1: the Redis clock jumped, as seen by the caller; else 0
-- ARGV[5]  count       due groups to return at most; 0: none
-- ARGV[6]  flag        1: the caller has passed here before; else 0
--
-- Returns {now, redisId, quietCausedAt, quietUntil, group, due, group, due, ...}: ms of the Redis clock, earliest first; the quiet
-- period is empty when there never was one. Another Redis than before, and a record that is gone although the caller has passed,
-- are losses: until lossUntilMs a group that seems new may have had a life that Redis forgot.
--
-- Atomic because two loops that pass at once must not both see, or both miss, the outage before them.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local info = redis.call('INFO', 'server') .. redis.call('INFO', 'replication')
local redis_id = string.match(info, 'run_id:(%w+)') .. '/' .. string.match(info, 'master_replid:(%w+)')
local record = redis.call('HMGET', KEYS[1], 'lastPassMs', 'quietCausedAtMs', 'quietUntilMs', 'redisId', 'lossUntilMs')
local last_pass = tonumber(record[1] or '')
local caused_at = record[2] or ''
local ends_at = record[3] or ''

local is_other_redis = record[4] and record[4] ~= redis_id
local is_loss = is_other_redis or (not last_pass and ARGV[6] == '1')
local is_quiet_from_now = is_other_redis or ARGV[4] == '1' or not last_pass or last_pass > now or now - last_pass > tonumber(ARGV[2])
local now_text = string.format('%.0f', now)
if is_quiet_from_now then
  caused_at = now_text
  ends_at = string.format('%.0f', now + tonumber(ARGV[3]))
end
redis.call('HSET', KEYS[1], 'lastPassMs', now_text, 'coordinatorId', ARGV[1],
  'quietCausedAtMs', caused_at, 'quietUntilMs', ends_at, 'redisId', redis_id,
  'lossUntilMs', is_loss and string.format('%.0f', now + tonumber(ARGV[3])) or record[5] or '')

local reply = { now_text, redis_id, caused_at, ends_at }
if ARGV[5] ~= '0' then
  local due = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now_text, 'WITHSCORES', 'LIMIT', 0, ARGV[5])
  for _, value in ipairs(due) do
    reply[#reply + 1] = value
  end
end
return reply
