-- Writes status rows. KEYS: the rows. ARGV: the manager's name, the writer's
-- name, the time, then per row: SET or DEL, the status field's name, status,
-- reason, by, and what SONiC's field "status" says beside the status field, "":
-- nothing; its "status_detail" has the reason too then, while there is one.
-- Last, SONiC's field "state": its value, "-" for none, "" for rows without it.
-- since is when the status became what it is; a reason in other words leaves it.
-- was is the reason that a row had before it was unknown (unknown.lua).
local manager, writer, now = ARGV[1], ARGV[2], ARGV[3]
for i, key in ipairs(KEYS) do
  local a = 7 * i - 3
  local op, field, status, reason, by, sonic = ARGV[a], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4], ARGV[a + 5]
  local state = ARGV[a + 6]
  local old = redis.call('HMGET', key, field, 'reason', 'since', 'by', 'was', 'state')
  if writer == manager or old[4] ~= manager then
    if op == 'DEL' then
      redis.call('DEL', key)
    elseif old[1] == status and old[3] then
      if old[2] ~= reason or old[4] ~= by then
        redis.call('HSET', key, 'reason', reason, 'by', by)
      end
    else
      redis.call('HSET', key, field, status, 'reason', reason, 'since', now, 'by', by)
      if old[5] then
        redis.call('HDEL', key, 'was')
      end
    end
    if op ~= 'DEL' and sonic ~= '' then
      if reason ~= '' then
        redis.call('HSET', key, 'status', sonic, 'status_detail', reason)
      else
        redis.call('HSET', key, 'status', sonic)
        redis.call('HDEL', key, 'status_detail')
      end
    end
    if op ~= 'DEL' and state == '-' and old[6] then
      redis.call('HDEL', key, 'state')
    elseif op ~= 'DEL' and state ~= '' and state ~= '-' and old[6] ~= state then
      redis.call('HSET', key, 'state', state)
    end
  end
end
