-- Queues new versions of rows that lose fields, in one step: the lost fields
-- leave the row and what is pending of it, the new fields become pending. Where
-- the number of lost fields is -1 the row was somebody else's: the new one comes
-- in its place. KEYS: channel, key set, del set, prefix of the rows, prefix of
-- the temporary hashes, then the rows' keys. ARGV: payload, then per row the
-- number of lost fields and their names, the number of fields and their field,
-- value pairs.
local added = 0
local at = 2
local function take()
  local n = tonumber(ARGV[at])
  at = at + 1
  return n
end
for i = 6, #KEYS do
  local final, temp = KEYS[4] .. KEYS[i], KEYS[5] .. KEYS[i]
  local lost = take()
  if lost < 0 then
    redis.call('SADD', KEYS[3], KEYS[i])
    redis.call('DEL', temp)
  end
  for _ = 1, lost do
    redis.call('HDEL', final, ARGV[at])
    redis.call('HDEL', temp, ARGV[at])
    at = at + 1
  end
  added = added + redis.call('SADD', KEYS[2], KEYS[i])
  for _ = 1, take() do
    redis.call('HSET', temp, ARGV[at], ARGV[at + 1])
    at = at + 2
  end
end
if added > 0 then
  redis.call('PUBLISH', KEYS[1], ARGV[1])
end
return added
