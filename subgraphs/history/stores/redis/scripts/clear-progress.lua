#!lua flags=allow-oom
-- clear-progress: moves the watermark of one viewer and business to the later of now and the newest entry, empties the timeline,
-- and marks the settings dirty. Clean contents are removed at once, dirty ones when they are persisted; tombstones stay.
-- KEYS[1] last version (string)  KEYS[2] dirty marks (zset)  KEYS[3] contents (hash)  KEYS[4] timeline (zset)
-- KEYS[5] settings (hash)  KEYS[6] the answer of this call (string)   all with the region's hash tag
-- ARGV[1] now (ms)  ARGV[2] expiry of idle viewers (ms; 0 never)  ARGV[3] packed viewer + business
-- ARGV[4] dirty mark of the settings  ARGV[5] channel of the viewer
-- returns the watermark
-- include: record timeline answer
local given = answerGiven(KEYS[6])
if given then return given end

local now, expireMs, prefix = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local business = struct.unpack('>H', prefix, #prefix - 1)
local before = tonumber(redis.call('HGET', KEYS[5], 'c' .. business) or '0')
local group = openTimeline(prefix, KEYS[3], KEYS[4], before)
local newest = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')
-- Trimmed entries may lie ahead of the clock, up to the floor.
local clearedAt = math.max(now, before, group.state.floorAt, newest[2] and -tonumber(newest[2]) or 0)

removeUntil(group, KEYS[2], clearedAt)

local version = math.max(tonumber(redis.call('GET', KEYS[1]) or '0') + 1, now * 1024)
redis.call('SET', KEYS[1], whole(version))
redis.call('HSET', KEYS[5], 'c' .. business, whole(clearedAt), 'version', whole(version))
redis.call('ZADD', KEYS[2], 'NX', whole(now), ARGV[4])
putOffExpiry(group, now, expireMs, true)
storeState(group)
redis.call('SPUBLISH', ARGV[5], 'c' .. struct.pack('>HI6I7', business, clearedAt, version))
return giveAnswer(KEYS[6], whole(clearedAt))
