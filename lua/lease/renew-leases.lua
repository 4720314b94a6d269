-- Renews leases of a group's members, without lock, if the group is exactly what the heartbeats were judged on.
--
-- KEYS[1]  hash    the group's metadata
-- ARGV[1]  number  revision
-- ARGV[2]  text    write id
-- ARGV[3]  text    schema version
-- ARGV[4]  text    layout version
-- ARGV[5]  bytes   length of the aggregate
-- ARGV[6]  ms      length of a lease
-- ARGV[7...]       per member: (member id, JSON of its report without the opening brace and receivedAtMs)
--
-- Returns one of
--   {'STALE'}                     the group is another, or is missing; nothing is written
--   {'RENEWED', now, d1, d2, ...} the new deadlines, in the order of the arguments; empty where the recorded one is over
--                                 or missing: nothing is revived
-- `now` is the Redis clock in ms, deadlines are in ms of that clock.
--
-- Atomic because no decision to end a tenure may come between the comparison and the renewal.

local fields = { 'revision', 'writeId', 'schemaVersion', 'layoutVersion', 'updatedAt' }
for index = 7, #ARGV, 2 do
  fields[#fields + 1] = 'lease:' .. ARGV[index]
end
local stored = redis.pcall('HMGET', KEYS[1], unpack(fields))
if stored.err then
  if string.find(stored.err, 'WRONGTYPE', 1, true) then return { 'STALE' } end
  return stored
end
local updated_at = tonumber(stored[5] or '')
local is_base = updated_at and stored[1] == ARGV[1] and stored[2] == ARGV[2] and stored[3] == ARGV[3]
  and stored[4] == ARGV[4] and redis.call('HSTRLEN', KEYS[1], 'aggregate') == tonumber(ARGV[5])
if not is_base then return { 'STALE' } end

local time = redis.call('TIME')
local redis_now = time[1] * 1000 + math.floor(time[2] / 1000)
local now = math.max(redis_now, updated_at)
local deadline = now + tonumber(ARGV[6])

local function deadline_of(text)
  if text and #text <= 16 and string.find(text, '^%d+$') then return tonumber(text) end
  return nil -- not as this software writes it: a section finds out
end

local reply = { 'RENEWED', string.format('%.0f', redis_now) }
local changes = {}
for index = 7, #ARGV, 2 do
  local position = 6 + (index - 7) / 2
  local recorded = deadline_of(stored[position])
  if recorded and recorded > now then
    local renewed = string.format('%.0f', math.max(recorded, deadline))
    changes[#changes + 1] = 'lease:' .. ARGV[index]
    changes[#changes + 1] = renewed
    changes[#changes + 1] = 'seen:' .. ARGV[index]
    changes[#changes + 1] = '{"receivedAtMs":' .. string.format('%.0f', now) .. ',' .. ARGV[index + 1]
    reply[#reply + 1] = renewed
  else
    reply[#reply + 1] = ''
  end
end
if #changes > 0 then redis.call('HSET', KEYS[1], unpack(changes)) end
return reply
