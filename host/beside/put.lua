-- Queues rows as producers do, each in place of what is there, but not where the row that is there, or is about to be,
-- is another's: one that has the field of ARGV[2]. KEYS: channel, key set, del set, prefix of the rows, prefix of the
-- temporary hashes, then the rows' keys. ARGV: payload, that field, then per row the number of its fields (0: the row
-- is to go) and their field, value pairs. Returns the numbers of the rows, from 1, that were left as they are.
local added, left = 0, {}
local at = 3
for i = 6, #KEYS do
  local key = KEYS[i]
  local temp = KEYS[5] .. key
  local n = tonumber(ARGV[at])
  local gone = redis.call('SISMEMBER', KEYS[3], key) == 1
  if redis.call('HEXISTS', temp, ARGV[2]) == 1 or (not gone and redis.call('HEXISTS', KEYS[4] .. key, ARGV[2]) == 1) then
    left[#left + 1] = i - 5
  else
    added = added + redis.call('SADD', KEYS[2], key)
    redis.call('SADD', KEYS[3], key)
    redis.call('DEL', temp)
    for j = at + 1, at + 2 * n, 2 do
      redis.call('HSET', temp, ARGV[j], ARGV[j + 1])
    end
  end
  at = at + 1 + 2 * n
end
if added > 0 then
  redis.call('PUBLISH', KEYS[1], ARGV[1])
end
return left
