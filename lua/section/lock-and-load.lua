-- Takes the lock of a group's section and reads the group.
--
-- KEYS[1]  hash    the group's metadata
-- KEYS[2]  string  the group's lock
-- ARGV[1]  text    token of this section, random
-- ARGV[2]  ms      time to live of the lock
-- ARGV[3]  number  revision that the caller knows, empty: none
-- ARGV[4]  text    write id that the caller knows
-- ARGV[5]  text    schema version that the caller knows
-- ARGV[6]  text    layout version that the caller knows
-- ARGV[7]  bytes   length of the aggregate that the caller knows
--
-- Returns one of
--   {'BUSY', now, remaining}                another section holds the lock for at most `remaining` ms
--   {'MISSING', now}                        locked; the group does not exist
--   {'WRONG_TYPE', now}                     locked; the key is no hash
--   {'KNOWN', now, id, deadline, ...}       locked; the aggregate is what the caller knows; all leases
--   {'LOADED', now, aggregate, revision, writeId, schemaVersion, layoutVersion, updatedAt, redisId, id, deadline,
--            ...}
--                                           locked; nil for a missing field; all leases
-- `now` is the Redis clock in ms, `deadline` is in ms of that clock.
--
-- Atomic because what is read must be what the lock protects from its first instant, by one clock.

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))

-- >>> read-group (the same in section/load.lua)
local CHUNK = 1000 -- Lua unpacks a bounded number of values

local function append_leases(reply)
  local ids = {}
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    if string.sub(field, 1, 6) == 'lease:' then ids[#ids + 1] = field end
  end
  for first = 1, #ids, CHUNK do
    local last = math.min(first + CHUNK - 1, #ids)
    for offset, deadline in ipairs(redis.call('HMGET', KEYS[1], unpack(ids, first, last))) do
      reply[#reply + 1] = string.sub(ids[first + offset - 1], 7)
      reply[#reply + 1] = deadline
    end
  end
  return reply
end

local function read_group(head, revision, write_id, schema_version, layout_version, aggregate_length)
  if head.err then return { 'WRONG_TYPE', now } end
  if redis.call('EXISTS', KEYS[1]) == 0 then return { 'MISSING', now } end
  local is_known = revision ~= '' and head[1] == revision and head[2] == write_id
    and head[3] == schema_version and head[4] == layout_version
    and redis.call('HSTRLEN', KEYS[1], 'aggregate') == tonumber(aggregate_length)
  if is_known then return append_leases({ 'KNOWN', now }) end
  local aggregate = redis.call('HGET', KEYS[1], 'aggregate')
  return append_leases({ 'LOADED', now, aggregate, head[1], head[2], head[3], head[4], head[5], head[6] })
end

local head = redis.pcall('HMGET', KEYS[1], 'revision', 'writeId', 'schemaVersion', 'layoutVersion', 'updatedAt',
  'redisId')
if head.err and not string.find(head.err, 'WRONGTYPE', 1, true) then return head end
-- <<< read-group

-- The lock comes last: an error while reading must not leave it behind.
if redis.call('EXISTS', KEYS[2]) == 1 then
  return { 'BUSY', now, redis.call('PTTL', KEYS[2]) }
end
local reply = read_group(head, ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7])
redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2])
return reply
