#!lua
-- set-paused: sets a viewer's switch and marks the settings dirty.
-- KEYS[1] last version (string)  KEYS[2] dirty marks (zset)  KEYS[3] settings (hash)
-- KEYS[4] the answer of this call (string)   all with the region's hash tag
-- ARGV[1] now (ms)  ARGV[2] 1 paused, 0 not  ARGV[3] dirty mark of the settings
-- returns the settings' fields and values
-- include: answer
local given = answerGiven(KEYS[4])
if given then return given end

local now = tonumber(ARGV[1])
local version = math.max(tonumber(redis.call('GET', KEYS[1]) or '0') + 1, now * 1024)
local text = string.format('%.0f', version)
redis.call('SET', KEYS[1], text)
redis.call('HSET', KEYS[3], 'paused', ARGV[2], 'version', text)
redis.call('ZADD', KEYS[2], 'NX', ARGV[1], ARGV[3])
return giveAnswer(KEYS[4], redis.call('HGETALL', KEYS[3]))
