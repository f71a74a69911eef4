-- Queues one operation. KEYS: list, channel. ARGV: key, fields as JSON, op with
-- its letter, payload. Returns how many were told.
redis.call('LPUSH', KEYS[1], ARGV[1], ARGV[2], ARGV[3])
return redis.call('PUBLISH', KEYS[2], ARGV[4])
