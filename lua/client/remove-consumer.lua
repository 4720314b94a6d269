-- Removes a consumer name from the Redis group of a shard, unless entries are pending under it.
--
-- KEYS[1]  stream  the shard's
-- ARGV[1]  text    consumer group
-- ARGV[2]  text    consumer name
--
-- Returns one of
--   1  removed, or there was none
--   0  entries are pending under it, nothing done
--
-- Atomic because XGROUP DELCONSUMER drops the pending entries of the name: one that came in between would be lost.

if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) > 0 then
  return 0
end
redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
return 1
