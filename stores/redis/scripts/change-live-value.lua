#!lua
-- change-live-value: compare-and-set of a live value, with a notice to its followers. Atomic.
-- KEYS[1] hash: version, text  KEYS[2] list of the last versions, newest first: version, note and text, separated by line breaks
-- ARGV[1] expected version (0: no value is stored)  ARGV[2] text (JSON)  ARGV[3] shard channel of the notice, with the key's hash tag
-- ARGV[4] note of the operator, one line  ARGV[5] versions to keep
-- returns {1, version} if the value is stored, else {0, current version}
--
-- Versions are times of the server in milliseconds, so that they go on growing after the key was lost. A client that lost the answer
-- sends the call again: it then finds its own text at the version after the expected one.
local version, text, before = unpack(redis.call('HMGET', KEYS[1], 'version', 'text', 'before'))
if (version or '0') ~= ARGV[1] then
  if before == ARGV[1] and text == ARGV[2] then return {1, version} end
  return {0, version or '0'}
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local next = string.format('%.0f', math.max(now, tonumber(ARGV[1]) + 1))
redis.call('HSET', KEYS[1], 'version', next, 'text', ARGV[2], 'before', ARGV[1])
redis.call('LPUSH', KEYS[2], next .. '\n' .. ARGV[4] .. '\n' .. ARGV[2])
redis.call('LTRIM', KEYS[2], 0, ARGV[5] - 1)
redis.call('SPUBLISH', ARGV[3], next)
return {1, next}
