-- Moves one pending entry of a shard to its dead-letter stream and acknowledges it.
--
-- KEYS[1]  stream  the shard's
-- KEYS[2]  stream  dead letters of the shard, in the same slot
-- ARGV[1]  text    consumer group
-- ARGV[2]  text    consumer name under which the entry has to be pending
-- ARGV[3]  id      of the entry
-- ARGV[4]  text    reason: NON_RETRYABLE or MAX_DELIVERIES
-- ARGV[5]  text    error
-- ARGV[6]  count   deliveries
--
-- Returns one of
--   1   moved. The dead letter begins with the fields originalId, originalStream, consumerGroup, reason, error and
--       deliveryCount, in this order; all that follows are the entry's own, unchanged (as one, fieldsJson, when they are
--       more than Lua can pass on)
--   0   not pending any more, nothing done
--   2   pending, but deleted from the stream: acknowledged, nothing to move
--   -1  pending under another consumer name, nothing done
--
-- Atomic because a crash between the two writes would lose the entry or leave it in both places. Repeated after a lost reply it
-- finds nothing pending. All checks come before the first write, and the write that Redis may refuse (out of memory, wrong
-- type) comes first.

local MAX_PASSED_ON = 7000
local pending = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)
if #pending == 0 then
  return 0
end
if pending[1][2] ~= ARGV[2] then
  return -1
end
local entries = redis.call('XRANGE', KEYS[1], ARGV[3], ARGV[3])
if #entries == 0 then
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
  return 2
end
local letter = {
  'originalId', ARGV[3], 'originalStream', KEYS[1], 'consumerGroup', ARGV[1],
  'reason', ARGV[4], 'error', ARGV[5], 'deliveryCount', ARGV[6],
}
local fields = entries[1][2]
if #fields > MAX_PASSED_ON then
  fields = { 'fieldsJson', cjson.encode(fields) }
end
for i = 1, #fields do
  letter[#letter + 1] = fields[i]
end
redis.call('XADD', KEYS[2], '*', unpack(letter))
redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
return 1
