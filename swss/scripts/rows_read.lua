-- Reads rows. KEYS: the rows. ARGV: how many bytes of fields and values a row may
-- have. Returns for each its fields and values, or the number of bytes if that
-- is larger; what is no hash is no row.
local most = tonumber(ARGV[1])
local out = {}
for i, key in ipairs(KEYS) do
  local row = redis.pcall('HGETALL', key)
  local size = 0
  if row.err then
    row = {}
  end
  for _, word in ipairs(row) do
    size = size + #word
  end
  if size > most then
    out[i] = size
  else
    out[i] = row
  end
end
return out
