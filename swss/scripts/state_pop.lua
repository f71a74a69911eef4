-- Takes pending rows and makes them final. KEYS: key set, prefix of the final
-- hashes, del set. ARGV: how many at most, prefix of the temporary hashes.
-- Returns {key, fields} per row: no fields where there is nothing to set, else
-- all fields of the row as it now is.
local out = {}
local keys = redis.call('SPOP', KEYS[1], ARGV[1])
for i, key in ipairs(keys) do
  local final = KEYS[2] .. key
  local temp = ARGV[2] .. final
  local old = true
  if redis.call('SREM', KEYS[3], key) == 1 then
    redis.call('DEL', final)
    old = false
  end
  local fields = redis.call('HGETALL', temp)
  if #fields > 0 then
    for j = 1, #fields, 1000 do
      redis.call('HSET', final, unpack(fields, j, math.min(j + 999, #fields)))
    end
    redis.call('DEL', temp)
    if old then
      fields = redis.call('HGETALL', final)
    end
  end
  out[i] = {key, fields}
end
return out
