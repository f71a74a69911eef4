-- Queues the removal of many rows. KEYS: channel, key set, prefix of the
-- temporary hashes, del set, then the rows' keys. ARGV: payload.
local added = 0
for i = 5, #KEYS do
  added = added + redis.call('SADD', KEYS[2], KEYS[i])
  redis.call('SADD', KEYS[4], KEYS[i])
  redis.call('DEL', KEYS[3] .. KEYS[i])
end
if added > 0 then
  redis.call('PUBLISH', KEYS[1], ARGV[1])
end
return added
