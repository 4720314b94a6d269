-- Moves one pending entry of a shard to its dead-letter stream and acknowledges it.
-- Atomic because a crash between the two would lose the entry or put it there twice; a repeat after a lost reply finds it
-- not pending any more and does nothing. All checks come before the first write, and the write that Redis may refuse (out
-- of memory, wrong type) comes first.
-- KEYS[1] stream of the shard
-- KEYS[2] dead-letter stream of the shard, in the same slot
-- ARGV[1] consumer group
-- ARGV[2] consumer name under which the entry has to be pending
-- ARGV[3] id of the entry
-- ARGV[4] reason: NON_RETRYABLE or MAX_DELIVERIES
-- ARGV[5] error, as text
-- ARGV[6] delivery count
-- The dead letter begins with the fields originalId, originalStream, consumerGroup, reason, error, deliveryCount, in this
-- order; the fields of the entry follow unchanged (as one field, fieldsJson, when they are more than Lua can pass on).
-- Replies: 1 moved; 0 not pending any more; 2 pending, but deleted from the stream: acknowledged, nothing to move;
--         -1 pending under another consumer name: nothing done
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
