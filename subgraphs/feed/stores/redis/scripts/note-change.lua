#!lua
-- note-change: notes a change under a key.
-- KEYS[1] noted changes (zset), with the region's hash tag
-- ARGV[1] clock (ticks)  ARGV[2] cache key
-- returns the version
-- include: clock
local tick = nextTick(KEYS[1], tonumber(ARGV[1]), 0)
redis.call('ZADD', KEYS[1], whole(tick), CLOCK, whole(tick), ARGV[2])
return tick
