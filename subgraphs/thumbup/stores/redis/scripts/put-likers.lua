#!lua
-- put-likers: replaces the cached likers of a subject unless newer ones are cached.
-- KEYS[1] likers (zset)  KEYS[2] version and whether the list is complete (string)   with the region's hash tag
-- ARGV[1] version  ARGV[2] 1 if the list is complete  ARGV[3] ms to keep them  ARGV[4..] in turn: markedAt, viewer
-- include: newer
local cached = redis.call('GET', KEYS[2])
if cached and isNewer(string.match(cached, '^[0-9]+'), ARGV[1]) then return 0 end
redis.call('UNLINK', KEYS[1])
for from = 4, #ARGV, 2000 do
  redis.call('ZADD', KEYS[1], unpack(ARGV, from, math.min(from + 1999, #ARGV)))
end
-- The list must not expire before its version. Until Redis 7.2, each command of a script reads the time anew, so the version comes first.
redis.call('SET', KEYS[2], ARGV[1] .. ',' .. ARGV[2], 'PX', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
