#!lua flags=no-writes
-- get-likers: the cached likers of a subject and their version, of one moment.
-- KEYS[1] likers (zset)  KEYS[2] version and whether the list is complete (string)   with the region's hash tag
-- returns nothing, or the second and the likers with their times, newest first
local version = redis.call('GET', KEYS[2])
if not version then return false end
return { version, redis.call('ZREVRANGE', KEYS[1], 0, -1, 'WITHSCORES') }
