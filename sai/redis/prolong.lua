-- Gives a key that has a time to live another: ARGV[1], in milliseconds.
if redis.call('PTTL', KEYS[1]) > 0 then
  return redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return 0
