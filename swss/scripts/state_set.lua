-- Queues one row. KEYS: channel, key set, temporary hash (once per field).
-- ARGV: payload, key, field, value, ...
local added = redis.call('SADD', KEYS[2], ARGV[2])
for i = 3, #ARGV, 1000 do
  redis.call('HSET', KEYS[3], unpack(ARGV, i, math.min(i + 999, #ARGV)))
end
if added > 0 then
  redis.call('PUBLISH', KEYS[1], ARGV[1])
end
return added
