-- Returns the state of a server and its databases. ARGV: the numbers of the
-- databases. Returns the id of the server's process, the counts of the commands
-- that empty databases, and for each database the number of its rows and its
-- marks, or the error if these cannot be read.
local function info(section, ...)
  local text = redis.pcall('INFO', section)
  if type(text) ~= 'string' then
    return ''
  end
  local found = {}
  for _, pattern in ipairs({...}) do
    for word in string.gmatch(text, pattern) do
      found[#found + 1] = word
    end
  end
  return table.concat(found, ' ')
end
local out = {
  info('server', 'run_id:(%w+)'),
  info('commandstats', 'cmdstat_(flush%w+:calls=%d+)', 'cmdstat_(swapdb:calls=%d+)'),
}
for _, id in ipairs(ARGV) do
  redis.call('SELECT', id)
  local marks = redis.pcall('HGETALL', 'TAMTAM_MARK')
  out[#out + 1] = redis.call('DBSIZE') - redis.call('EXISTS', 'TAMTAM_MARK', 'CONFIG_DB_INITIALIZED')
  out[#out + 1] = marks.err or marks
end
return out
