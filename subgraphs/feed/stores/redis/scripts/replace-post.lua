#!lua
-- replace-post: replaces the contents of a post, held or not, unless the held one has another version. Atomic.
-- KEYS[1] noted changes (zset)  KEYS[2] held posts (list)  KEYS[3] dirty marks (zset)  KEYS[4] the post (string)
--         all with the region's hash tag
-- ARGV[1] clock (ticks)  ARGV[2] now (ms)  ARGV[3] version that is replaced  ARGV[4] id (8 bytes)
-- ARGV[5] post (protobuf without version); empty: only read  ARGV[6] author  ARGV[7] cache key of the content
-- returns the post as stored; nil if it is not held and nothing was written
-- include: clock
local held = redis.call('GET', KEYS[4])
if held and (ARGV[5] == '' or versionOf(held) ~= tonumber(ARGV[3])) then return held end
if ARGV[5] == '' then return false end
local tick = nextTick(KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[3]))
local post = '\0' .. versioned(ARGV[5], tick)
redis.call('SET', KEYS[4], post)
redis.call('RPUSH', KEYS[2], ARGV[4] .. struct.pack('<d', tick))
redis.call('ZADD', KEYS[3], 'NX', ARGV[2], ARGV[4] .. ARGV[6])
redis.call('ZADD', KEYS[1], whole(tick), CLOCK, whole(tick), ARGV[7])
return post
