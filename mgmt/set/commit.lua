-- Writes many rows at once, if all rows are still what the writer read and nobody took a turn
-- since it began.
-- ARGV[1]: netstrings ("3:abc"): the key of the marks, the turn when the writer began, the writer's;
-- then for each row: its key; the number of fields
-- read, and each with its value; the number of fields to write, or -1 to
-- delete the row, and each with its value; the number of fields to delete, and
-- each. Returns the key of the first row that has changed, or an empty string.
local s, pos = ARGV[1], 1
local function take()
	local colon = string.find(s, ':', pos, true)
	local n = tonumber(string.sub(s, pos, colon - 1))
	pos = colon + n + 1
	return string.sub(s, colon + 1, colon + n)
end
local function number() return tonumber(take()) end

local marks, began, mine = take(), take(), take()
if (redis.call('HGET', marks, 'turn') or '') ~= began then return marks end

local rows = {}
while pos <= #s do
	local row = {key = take(), set = {}, del = {}}
	local now, seen = {}, 0
	local hash = redis.call('HGETALL', row.key)
	for i = 1, #hash, 2 do now[hash[i]] = hash[i + 1] end
	local read = number()
	for _ = 1, read do
		local f, v = take(), take()
		if now[f] == v then seen = seen + 1 end
	end
	if seen ~= read or 2 * read ~= #hash then return row.key end
	local set = number()
	row.gone = set < 0
	for _ = 1, 2 * set do row.set[#row.set + 1] = take() end
	for _ = 1, number() do row.del[#row.del + 1] = take() end
	rows[#rows + 1] = row
end
-- From here on nothing fails: no call gets more words than Lua can unpack.
local function each(command, key, words)
	for i = 1, #words, 1000 do
		redis.call(command, key, unpack(words, i, math.min(i + 999, #words)))
	end
end
redis.call('HSET', marks, 'turn', mine)
for _, row in ipairs(rows) do
	if row.gone then redis.call('DEL', row.key) end
	each('HSET', row.key, row.set)
	each('HDEL', row.key, row.del)
end
return ''
