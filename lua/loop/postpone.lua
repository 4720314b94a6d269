-- Sets the time at which the loop must next look at a group, unless an earlier one was asked for meanwhile.
--
-- KEYS[1]  sorted set  groups by the time at which the loop must look at them, in ms
-- ARGV[1]  text        name of the group
-- ARGV[2]  ms          due time that the caller has seen
-- ARGV[3]  ms          due time to set
--
-- Returns 1 when set (a missing entry is made), 0 when the recorded time is earlier than the one seen.
--
-- Atomic because a time that is brought forward between the comparison and the write would be lost.

local recorded = redis.call('ZSCORE', KEYS[1], ARGV[1])
if recorded and tonumber(recorded) < tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
return 1
