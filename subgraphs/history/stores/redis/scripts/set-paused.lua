#!lua
-- set-paused: sets a viewer's switch, marks the settings dirty, and tells the followers.
-- KEYS[1] last version (string)  KEYS[2] dirty marks (zset)  KEYS[3] settings (hash)
-- KEYS[4] the answer of this call (string)   all with the region's hash tag
-- ARGV[1] now (ms)  ARGV[2] 1 paused, 0 not  ARGV[3] dirty mark of the settings  ARGV[4] channel of the viewer
-- returns the settings' fields and values
-- include: answer changes
local given = answerGiven(KEYS[4])
if given then return given end

local now = tonumber(ARGV[1])
local version = math.max(tonumber(redis.call('GET', KEYS[1]) or '0') + 1, now * 1024)
local text = string.format('%.0f', version)
redis.call('SET', KEYS[1], text)
redis.call('HSET', KEYS[3], 'paused', ARGV[2], 'version', text)
redis.call('ZADD', KEYS[2], 'NX', ARGV[1], ARGV[3])
redis.call('SPUBLISH', ARGV[4], pausedChange(tonumber(ARGV[2]), version))
return giveAnswer(KEYS[4], redis.call('HGETALL', KEYS[3]))
