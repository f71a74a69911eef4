-- Queues the removal of one row. KEYS: channel, key set, temporary hash, del
-- set. ARGV: payload, key.
local added = redis.call('SADD', KEYS[2], ARGV[2])
redis.call('SADD', KEYS[4], ARGV[2])
redis.call('DEL', KEYS[3])
if added > 0 then
  redis.call('PUBLISH', KEYS[1], ARGV[1])
end
return added
