-- Doubts rows, or believes them again. KEYS: the hash of marks, the rows. ARGV: who reports them, the process of that
-- name that must have its mark here, "" none; the time; the reason of the doubt, "" believes: the reason that there was
-- comes back; the field with the status, the status of the rows that it is about, and what it becomes; what SONiC's field
-- "status" says then beside that field, "": nothing. Where it does, a row may have that field alone, with the same words for
-- these statuses, and "status_detail" has the reason too while there is one. Returns how many rows it was about.
local by, owner, now, reason, field, is, becomes = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local sonic = ARGV[8]
if (redis.call('HGET', KEYS[1], by) or '') ~= owner then
  return 0
end
local n = 0
for i = 2, #KEYS do
  local key = KEYS[i]
  local old = redis.call('HMGET', key, field, 'by', 'reason', 'was')
  if (old[1] or sonic ~= '' and redis.call('HGET', key, 'status')) == is and old[2] == by then
    n = n + 1
    if reason ~= '' then
      redis.call('HSET', key, field, becomes, 'reason', reason, 'since', now, 'was', old[3] or '')
    else
      redis.call('HSET', key, field, becomes, 'reason', old[4] or '', 'since', now)
      redis.call('HDEL', key, 'was')
    end
    local text = reason ~= '' and reason or old[4] or ''
    if sonic ~= '' and text ~= '' then
      redis.call('HSET', key, 'status', sonic, 'status_detail', text)
    elseif sonic ~= '' then
      redis.call('HSET', key, 'status', sonic)
      redis.call('HDEL', key, 'status_detail')
    end
  end
end
return n
