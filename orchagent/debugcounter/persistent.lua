-- Judges the count of a debug counter at a port, as SONiC's drop monitor does.
-- KEYS: the hash of the counter at the port, the list of its incidents, the hash of alerts.
-- ARGV: now (seconds), the count, the thresholds of drops and of incidents, the window (seconds), the counter, the
-- port, the maximum number of alerts.
-- Returns the number of incidents that count, the time of the last alert, and the number of alerts.
local now = tonumber(ARGV[1])
local before = tonumber(redis.call('HGET', KEYS[1], 'prev_drop_count') or 0) or 0
redis.call('HSET', KEYS[1], 'prev_drop_count', ARGV[2])
if tonumber(ARGV[2]) - before > tonumber(ARGV[3]) then
  redis.call('RPUSH', KEYS[2], ARGV[1])
end

local old, live = 0, 0
for _, at in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
  if now - (tonumber(at) or 0) > tonumber(ARGV[5]) then
    old = old + 1
  else
    live = live + 1
  end
end
if old > 0 then
  redis.call('LTRIM', KEYS[2], old, -1)
end

if live > tonumber(ARGV[4]) then
  -- SONiC's text; where the same counter alerts for several ports at once, it names them all.
  local field = ARGV[6] .. '|' .. ARGV[1]
  local text = redis.call('HGET', KEYS[3], field)
  if text then
    text = text .. ', ' .. ARGV[7]
  else
    text = 'Persistent packet drops detected on ' .. ARGV[7]
  end
  redis.call('HSET', KEYS[3], field, text)
  redis.call('DEL', KEYS[2])
  redis.call('HINCRBY', KEYS[1], 'alerts', 1)
  redis.call('HSET', KEYS[1], 'last_alert', ARGV[1])
  live = 0
  if redis.call('HLEN', KEYS[3]) > tonumber(ARGV[8]) then
    local oldest, when
    for _, name in ipairs(redis.call('HKEYS', KEYS[3])) do
      local at = tonumber(string.match(name, '|(%d+)$') or 0)
      if not when or at < when or (at == when and name < oldest) then
        oldest, when = name, at
      end
    end
    redis.call('HDEL', KEYS[3], oldest)
  end
end
redis.call('HSET', KEYS[1], 'live_incidents', live)
return {
  live, tonumber(redis.call('HGET', KEYS[1], 'last_alert') or 0) or 0,
  tonumber(redis.call('HGET', KEYS[1], 'alerts') or 0) or 0
}
