#!lua
-- get-wide-counters: the counters of a subject with its overflow entry, of one moment.
-- KEYS[1] block  KEYS[2] overflow entries (hash)
-- ARGV[1] packed id  ARGV[2] bytes of packed counters
-- returns {counters, overflow entry or empty}, or {} if the block does not have the subject
-- include: entries
local block = redis.call('GET', KEYS[1]) or ''
local place = findEntry(block, ARGV[1], tonumber(ARGV[2]))
if not place then return {} end
return { string.sub(block, place, place + ARGV[2] - 1), redis.call('HGET', KEYS[2], ARGV[1]) or '' }
