#!lua
-- publish: stores a post under a new id, unless the author's client key has one. Atomic.
-- KEYS[1] noted changes (zset)  KEYS[2] held posts (list)  KEYS[3] dirty marks (zset)  KEYS[4] the author's client keys (hash)
-- KEYS[5] the author's outbox (string)  KEYS[6] beginning of the keys of posts   all with the region's hash tag
-- ARGV[1] clock (ticks)  ARGV[2] now (ms)  ARGV[3] region  ARGV[4] client key  ARGV[5] hash of the contents (8 bytes)
-- ARGV[6] post (protobuf without version)  ARGV[7] author  ARGV[8] cache key of the head, empty if the post is restricted
-- ARGV[9] '1': nothing new is published
-- returns outcome (0 published, 1 repeated, 2 conflict, 3 unknown), id (8 bytes) but for 3, and for 1 the post as stored
-- include: clock
local known = redis.call('HGET', KEYS[4], ARGV[4])
if known then
  local id = string.sub(known, 1, 8)
  if string.sub(known, 9) ~= ARGV[5] then return { 2, id } end
  return { 1, id, redis.call('GET', postKey(KEYS[6], id)) }
end
if ARGV[9] == '1' then return { 3 } end
local tick = postTick(nextTick(KEYS[1], tonumber(ARGV[1]), 0), ARGV[8] == '')
local id = idOf(tick, tonumber(ARGV[3]))
redis.call('SET', postKey(KEYS[6], id), '\0' .. versioned(ARGV[6], tick))
redis.call('HSET', KEYS[4], ARGV[4], id .. ARGV[5])
redis.call('RPUSH', KEYS[2], id .. struct.pack('<d', tick))
redis.call('ZADD', KEYS[3], ARGV[2], id .. ARGV[7])
redis.call('ZADD', KEYS[1], whole(tick), CLOCK)
if ARGV[8] ~= '' then
  redis.call('APPEND', KEYS[5], id)
  redis.call('ZADD', KEYS[1], whole(tick), ARGV[8])
end
return { 0, id }
