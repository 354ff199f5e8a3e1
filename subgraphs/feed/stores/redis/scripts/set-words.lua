#!lua
-- set-words: replaces a viewer's filter words and marks them dirty. Atomic.
-- KEYS[1] noted changes (zset)  KEYS[2] dirty marks (zset)  KEYS[3] the viewer's words (string)   all with the region's hash tag
-- ARGV[1] clock (ticks)  ARGV[2] now (ms)  ARGV[3] words (protobuf without version)  ARGV[4] member of the dirty mark
-- ARGV[5] cache key of the inbox
-- returns the version
-- include: clock
local tick = nextTick(KEYS[1], tonumber(ARGV[1]), 0)
redis.call('SET', KEYS[3], versioned(ARGV[3], tick))
redis.call('ZADD', KEYS[2], 'NX', ARGV[2], ARGV[4])
redis.call('ZADD', KEYS[1], whole(tick), CLOCK, whole(tick), ARGV[5])
return tick
