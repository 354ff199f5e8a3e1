#!lua flags=allow-oom
-- forget-marks: removes all data of one viewer in one business, persisted or not.
-- KEYS[1] dirty marks (zset)  KEYS[2] tombstones (zset)  KEYS[3] marks (hash)  KEYS[4] likes (zset)  KEYS[5] dislikes (zset)
-- ARGV[1] packed viewer + business
-- returns the number of removed keys of Redis
for _, oid in ipairs(redis.call('HKEYS', KEYS[3])) do
  redis.call('ZREM', KEYS[1], ARGV[1] .. oid)
  redis.call('ZREM', KEYS[2], ARGV[1] .. oid)
end
return redis.call('UNLINK', KEYS[3], KEYS[4], KEYS[5])
