#!lua
-- delete-post: replaces a post, held or not, by its tombstone, unless it has one. Atomic.
-- KEYS[1] noted changes (zset)  KEYS[2] held posts (list)  KEYS[3] dirty marks (zset)  KEYS[4] the post (string)
-- KEYS[5] the author's outbox (string)  KEYS[6] ids removed from it (zset)   all with the region's hash tag
-- ARGV[1] clock (ticks)  ARGV[2] now (ms)  ARGV[3] version of the post  ARGV[4] id (8 bytes)  ARGV[5] tombstone (protobuf without version)
-- ARGV[6] author  ARGV[7] cache key of the content  ARGV[8] cache key of the head, empty if the post is restricted
-- returns the tombstone as stored
-- include: clock vector
local held = redis.call('GET', KEYS[4])
if held and string.byte(held) == 1 then return held end
local tick = nextTick(KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[3]))
local tombstone = '\1' .. versioned(ARGV[5], tick)
redis.call('SET', KEYS[4], tombstone)
redis.call('RPUSH', KEYS[2], ARGV[4] .. struct.pack('<d', tick))
redis.call('ZADD', KEYS[3], 'NX', ARGV[2], ARGV[4] .. ARGV[6])
redis.call('ZADD', KEYS[1], whole(tick), CLOCK, whole(tick), ARGV[7])
if ARGV[8] ~= '' then
  putVector(KEYS[5], without(redis.call('GET', KEYS[5]) or '', { ARGV[4] }))
  redis.call('ZADD', KEYS[6], whole(tick), ARGV[4])
  redis.call('ZADD', KEYS[1], whole(tick), ARGV[8])
end
return tombstone
