-- Takes the oldest operations of a queue. KEYS: list, prefix of the table.
-- ARGV: how many at most, 1 if the table's hashes follow. Returns
-- {key, op without letter, field, value, ...} per operation, oldest first.
local n = 3 * tonumber(ARGV[1])
local list = redis.call('LRANGE', KEYS[1], -n, -1)
redis.call('LTRIM', KEYS[1], 0, -n - 1)

local untouched = {
  flush = true, flushresponse = true, get = true, bulkget = true, getresponse = true, notify = true,
  get_stats = true, clear_stats = true,
  attribute_capability_query = true, attribute_capability_response = true,
  attr_enum_values_capability_query = true, attr_enum_values_capability_response = true,
  object_type_get_availability_query = true, object_type_get_availability_response = true,
  stats_capability_query = true, stats_capability_response = true,
  stats_st_capability_query = true, stats_st_capability_response = true,
  link_event_damping_config_set = true,
}

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
      if #attrs > 0 then
        store(hash, attrs)
      end
    end
  end
end

local out = {}
for i = #list, 1, -3 do
  local key, json, letter = list[i], list[i - 1], string.sub(list[i - 2], 1, 1)
  local op = string.sub(list[i - 2], 2)
  local fields = cjson.decode(json)
  local item = {key, op}
  for j = 1, #fields do
    item[#item + 1] = fields[j]
  end
  out[#out + 1] = item
  if ARGV[2] == '1' then
    local hash = KEYS[2] .. ':' .. key
    if op == 'bulkcreate' or op == 'bulkset' or op == 'bulkremove' then
      bulk(op, key, fields)
    elseif op == 'set' or op == 'SET' or op == 'create' or op == 'remove' or op == 'DEL' then
      if letter == 'D' then
        redis.call('DEL', hash)
      elseif #fields > 0 then
        store(hash, fields)
      end
    elseif not untouched[op] then
      error('unknown operation ' .. op)
    end
  end
end
return out
