-- Queues the difference between the final rows and a new view of the whole
-- table. KEYS: channel, key set, prefix of the temporary hashes, del set, then
-- the keys of rows to delete (ARGV[2] of them), then of rows to set. ARGV:
-- payload, number of rows to delete, then per row to set the number of its
-- fields and its field, value pairs.
local gone = tonumber(ARGV[2])
for i = 5, 4 + gone do
  redis.call('SADD', KEYS[2], KEYS[i])
  redis.call('SADD', KEYS[4], KEYS[i])
  redis.call('DEL', KEYS[3] .. KEYS[i])
end
local from = 3
for i = 5 + gone, #KEYS do
  redis.call('SADD', KEYS[2], KEYS[i])
  redis.call('SADD', KEYS[4], KEYS[i])
  redis.call('DEL', KEYS[3] .. KEYS[i])
  local last = from + 2 * tonumber(ARGV[from])
  for j = from + 1, last, 1000 do
    redis.call('HSET', KEYS[3] .. KEYS[i], unpack(ARGV, j, math.min(j + 999, last)))
  end
  from = last + 1
end
redis.call('PUBLISH', KEYS[1], ARGV[1])
