-- Writes many rows at once, if all rows are still what the writer read.
-- ARGV[1]: netstrings ("3:abc"), for each row: its key; the number of fields
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
for _, row in ipairs(rows) do
	if row.gone then redis.call('DEL', row.key) end
	if #row.set > 0 then redis.call('HSET', row.key, unpack(row.set)) end
	if #row.del > 0 then redis.call('HDEL', row.key, unpack(row.del)) end
end
return ''
