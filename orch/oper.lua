-- Reports that the states of ports, LAGs and VLANs are unknown, and the times of their last changes. KEYS: the hash of
-- marks, their rows. ARGV: who reports this, the process of that name that must have its mark here ("" for none); the
-- field, the word, and the field with the time.
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then
  return 0
end
for i = 2, #KEYS do
  local key, field, word = KEYS[i], ARGV[3], ARGV[4]
  if redis.call('HEXISTS', key, field) == 1 then
    redis.call('HSET', key, field, word)
    redis.call('HDEL', key, ARGV[5])
  end
end
