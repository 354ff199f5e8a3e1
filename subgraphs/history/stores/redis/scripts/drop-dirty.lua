#!lua flags=allow-oom
-- drop-dirty: removes dirty marks whose content is missing.
-- KEYS[1] dirty marks (zset)
-- KEYS[2..] per key: contents (hash); for settings: settings (hash)
-- ARGV[1..] per key: field that must be missing, dirty mark
for at = 2, #KEYS do
  local place = (at - 2) * 2
  if redis.call('HEXISTS', KEYS[at], ARGV[place + 1]) == 0 then redis.call('ZREM', KEYS[1], ARGV[place + 2]) end
end
return 0
