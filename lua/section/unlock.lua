-- Releases the lock of a group's section, if it still is this section's.
--
-- KEYS[1]  string  the group's lock
-- ARGV[1]  text    token of this section
--
-- Returns 1 when released, 0 when the lock was not held with this token.
--
-- Atomic because between comparing and deleting, the lock may run out and be taken by another.

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
