-- Takes the oldest operations of a queue. KEYS: list, prefix of the table.
-- ARGV: how many at most, 1 if the table's hashes follow. Returns the elements
-- taken as they stood, newest first: per operation op with its letter, fields
-- as JSON, key. An operation that cannot be followed costs itself alone.
local n = 3 * tonumber(ARGV[1])
local list = redis.call('LRANGE', KEYS[1], -n, -1)
redis.call('LTRIM', KEYS[1], 0, -n - 1)
if ARGV[2] ~= '1' then
  return list
end

local function store(hash, fields)
  for i = 1, #fields, 1000 do
    redis.call('HSET', hash, unpack(fields, i, math.min(i + 999, #fields)))
  end
end

-- bulk follows one bulk operation: its key is TYPE:count, each of its pairs an
-- object's id and its attributes as "a=v|a=v".
local function bulk(op, key, objects)
  local kind = string.match(key, '^(.*):') or key
  for i = 1, #objects, 2 do
    local hash = KEYS[2] .. ':' .. kind .. ':' .. objects[i]
    if op == 'bulkremove' then
      redis.call('DEL', hash)
    else
      local attrs = {}
      for attr in string.gmatch(objects[i + 1], '[^|]+') do
        local name, value = string.match(attr, '^([^=]*)=(.*)$')
        attrs[#attrs + 1] = name
        attrs[#attrs + 1] = value
      end
      store(hash, attrs)
    end
  end
end

-- The operations that change hashes; all others leave them alone.
local single = {set = true, SET = true, create = true, remove = true, DEL = true}
local many = {bulkcreate = true, bulkset = true, bulkremove = true}

local function follow(key, json, opcode)
  local op = string.sub(opcode, 2)
  if many[op] then
    bulk(op, key, cjson.decode(json))
  elseif single[op] and string.sub(opcode, 1, 1) == 'D' then
    redis.call('DEL', KEYS[2] .. ':' .. key)
  elseif single[op] then
    store(KEYS[2] .. ':' .. key, cjson.decode(json))
  end
end

for i = #list, 3, -3 do
  pcall(follow, list[i], list[i - 1], list[i - 2])
end
return list
