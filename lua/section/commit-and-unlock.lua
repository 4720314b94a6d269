-- Writes what a section decided, and releases its lock.
--
-- KEYS[1]   hash    the group's metadata
-- KEYS[2]   string  the group's lock
-- ARGV[1]   text    token of this section
-- ARGV[2]   number  revision that the decision started from, empty: the group must not exist (REPLACE: the key must, and what
--                   it holds was unreadable)
-- ARGV[3]   text    write id that the decision started from
-- ARGV[4]   text    'WRITE' all, 'REPLACE' whatever is stored by it, 'KEEP' the aggregate and its numbers, or 'DELETE' the
--                   group
-- ARGV[5]   text    channel to announce the change on, empty: none
-- ARGV[6]   text    name of the group, the message
-- ARGV[7]   JSON    the new aggregate
-- ARGV[8]   number  its revision
-- ARGV[9]   text    its write id
-- ARGV[10]  text    its schema version
-- ARGV[11]  text    its layout version
-- ARGV[12]  ms      its time of writing
-- ARGV[13]  text    identity of the Redis that it was decided on
-- ARGV[14]  count   a: leases that must be as they were read
-- ARGV[15]  count   b: leases to set; one that is recorded never moves back
-- ARGV[16]  count   c: fields to remove
-- ARGV[17]  count   d: reports to set
-- ARGV[18...]       a times (field, deadline in ms), b times (field, deadline in ms), c times (field), d times (field, JSON)
--
-- Returns one of
--   {'COMMITTED', now}      all is written and the lock released; `now` is the Redis clock in ms
--   {'LOCK_LOST'}           nothing is written; the lock ran out or is another's
--   {'REVISION_CONFLICT'}   nothing is written, the lock is released; another value is stored
--   {'LEASE_MOVED'}         nothing is written, the lock is released; a lease was renewed meanwhile
-- An error of Redis (out of memory, missing permission): nothing is written, and the lock is released if that is possible.
--
-- Atomic because a reader must see all of a write or nothing, and nobody may write between the comparisons and the write.

local CHUNK = 1000 -- Lua unpacks a bounded number of values; even, so that pairs stay together

if redis.call('GET', KEYS[2]) ~= ARGV[1] then return { 'LOCK_LOST' } end

local function leave(reply)
  redis.call('DEL', KEYS[2])
  return reply
end

-- Every comparison and every permission comes before the first write.
if redis.acl_check_cmd then
  local may_write = redis.acl_check_cmd('HSET', KEYS[1], 'field', 'value')
    and redis.acl_check_cmd('HDEL', KEYS[1], 'field')
    and redis.acl_check_cmd('DEL', KEYS[1])
  if not may_write then
    return leave(redis.error_reply('NOPERM this user may not write the metadata (HSET, HDEL, DEL)'))
  end
end

local stored = redis.pcall('HMGET', KEYS[1], 'revision', 'writeId')
local is_wrong_type = stored.err and string.find(stored.err, 'WRONGTYPE', 1, true)
if stored.err and not is_wrong_type then return leave(stored) end
if ARGV[4] == 'REPLACE' then
  if redis.call('EXISTS', KEYS[1]) == 0 then return leave({ 'REVISION_CONFLICT' }) end
elseif is_wrong_type then
  return leave({ 'REVISION_CONFLICT' })
elseif ARGV[2] == '' then
  if redis.call('EXISTS', KEYS[1]) == 1 then return leave({ 'REVISION_CONFLICT' }) end
elseif stored[1] ~= ARGV[2] or stored[2] ~= ARGV[3] then
  return leave({ 'REVISION_CONFLICT' })
end

local expected_first = 18
local leases_first = expected_first + 2 * tonumber(ARGV[14])
local removed_first = leases_first + 2 * tonumber(ARGV[15])
local reports_first = removed_first + tonumber(ARGV[16])
local reports_last = reports_first + 2 * tonumber(ARGV[17]) - 1

for index = expected_first, leases_first - 1, 2 do
  if redis.call('HGET', KEYS[1], ARGV[index]) ~= ARGV[index + 1] then return leave({ 'LEASE_MOVED' }) end
end

local function is_deadline(text)
  return text and #text <= 16 and string.find(text, '^%d+$')
end

local fields = {}
if ARGV[4] == 'WRITE' or ARGV[4] == 'REPLACE' then
  fields = {
    'aggregate', ARGV[7], 'revision', ARGV[8], 'writeId', ARGV[9],
    'schemaVersion', ARGV[10], 'layoutVersion', ARGV[11], 'updatedAt', ARGV[12],
    'redisId', ARGV[13],
  }
end
for index = leases_first, removed_first - 1, 2 do
  local deadline = ARGV[index + 1]
  local recorded = ARGV[4] ~= 'REPLACE' and redis.call('HGET', KEYS[1], ARGV[index])
  if is_deadline(recorded) and tonumber(recorded) > tonumber(deadline) then deadline = recorded end
  fields[#fields + 1] = ARGV[index]
  fields[#fields + 1] = deadline
end
for index = reports_first, reports_last do
  fields[#fields + 1] = ARGV[index]
end

-- Redis refuses at the first write or at none: once one was done, it lets the rest of the script go through.
if ARGV[4] == 'DELETE' or ARGV[4] == 'REPLACE' then redis.call('DEL', KEYS[1]) end
if ARGV[4] ~= 'DELETE' then
  for first = 1, #fields, CHUNK do
    local last = math.min(first + CHUNK - 1, #fields)
    local written = redis.pcall('HSET', KEYS[1], unpack(fields, first, last))
    if type(written) == 'table' and written.err then return leave(written) end
  end
  for first = removed_first, reports_first - 1, CHUNK do
    redis.call('HDEL', KEYS[1], unpack(ARGV, first, math.min(first + CHUNK - 1, reports_first - 1)))
  end
end

redis.call('DEL', KEYS[2])
if ARGV[5] ~= '' then redis.pcall('PUBLISH', ARGV[5], ARGV[6]) end -- a hint: without permission it is left out
local time = redis.call('TIME')
return { 'COMMITTED', string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)) }
