#!lua flags=allow-oom
-- drop-marks: removes dirty marks without a mark.
-- KEYS[1] dirty marks (zset)  KEYS[2..] per viewer and business: marks (hash), likes (zset), dislikes (zset)
-- ARGV[1..] in turn: place in groups from 0, oid, dirty mark
for at = 1, #ARGV, 3 do
  local key, oid = 2 + tonumber(ARGV[at]) * 3, ARGV[at + 1]
  local held = redis.call('HEXISTS', KEYS[key], oid) == 1 or redis.call('ZSCORE', KEYS[key + 1], oid) or redis.call('ZSCORE', KEYS[key + 2], oid)
  if not held then redis.call('ZREM', KEYS[1], ARGV[at + 2]) end
end
return 0
