-- Queues many rows. KEYS: channel, key set, prefix of the temporary hashes,
-- then the rows' keys. ARGV: payload, then per row the number of its fields
-- and its field, value pairs.
local added = 0
local from = 2
for i = 4, #KEYS do
  added = added + redis.call('SADD', KEYS[2], KEYS[i])
  local last = from + 2 * tonumber(ARGV[from])
  for j = from + 1, last, 1000 do
    redis.call('HSET', KEYS[3] .. KEYS[i], unpack(ARGV, j, math.min(j + 999, last)))
  end
  from = last + 1
end
if added > 0 then
  redis.call('PUBLISH', KEYS[1], ARGV[1])
end
return added
