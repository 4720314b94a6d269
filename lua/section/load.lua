-- Reads a group without lock: for routing, monitoring and long polls. Writes nothing.
--
-- KEYS[1]  hash    the group's metadata
-- ARGV[1]  number  revision that the caller knows, empty: none
-- ARGV[2]  text    write id that the caller knows
-- ARGV[3]  text    schema version that the caller knows
-- ARGV[4]  text    layout version that the caller knows
-- ARGV[5]  bytes   length of the aggregate that the caller knows
--
-- Returns one of
--   {'MISSING', now}                        the group does not exist
--   {'WRONG_TYPE', now}                     the key is no hash
--   {'KNOWN', now, id, deadline, ...}       the aggregate is what the caller knows; all leases
--   {'LOADED', now, aggregate, revision, writeId, schemaVersion, layoutVersion, updatedAt, redisId, id, deadline,
--            ...}
--                                           nil for a missing field; all leases
-- `now` is the Redis clock in ms, `deadline` is in ms of that clock.
--
-- Atomic because aggregate, leases and clock must be of one moment.

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))

-- >>> read-group (the same in section/lock-and-load.lua)
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

return read_group(head, ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5])
