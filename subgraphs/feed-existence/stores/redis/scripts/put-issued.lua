#!lua
-- put-issued: notes ids as served now; then removes entries that are beyond the cap and old enough, or beyond the hard cap; then
-- claims a day, if there are keys for that. A score is a moment, 512 per millisecond: within a call, later ids are newer
-- (subgraphs/feed-existence/stores/issued-moments.ts computes the same).
-- KEYS[1] issued (zset)  KEYS[2] rewards not yet in the log (zset)  KEYS[3] the day's flags   all with the region's hash tag
-- ARGV[1] now (ms)  ARGV[2] cap  ARGV[3] minimum age for removal (ms)  ARGV[4] hard cap  ARGV[5] expiry of idle viewers (ms)
-- ARGV[6] place  ARGV[7] reward (see first-of-day.lua)  ARGV[8..] ids
-- returns 1 if the day was not yet claimed, else 0
-- include: first-of-day
local issued, now = KEYS[1], tonumber(ARGV[1])
local cap, hardCap = tonumber(ARGV[2]), tonumber(ARGV[4])
local FIRST, PLACES = 8, 512
local ids = #ARGV - FIRST + 1

-- In lots: a command takes at most a few thousand arguments from a script.
local LOT = 1000
for from = FIRST, #ARGV, LOT do
  local entries = {}
  for at = from, math.min(from + LOT - 1, #ARGV) do
    entries[#entries + 1] = string.format('%.0f', now * PLACES + math.floor((at - FIRST) * PLACES / ids))
    entries[#entries + 1] = ARGV[at]
  end
  redis.call('ZADD', issued, 'GT', unpack(entries))
end

local count = redis.call('ZCARD', issued)
if count > cap then
  local old = redis.call('ZCOUNT', issued, '-inf', string.format('(%.0f', (now - tonumber(ARGV[3]) + 1) * PLACES))
  -- The oldest entries come first.
  local going = math.max(math.min(old, count - cap), count - hardCap)
  if going > 0 then redis.call('ZREMRANGEBYRANK', issued, 0, going - 1) end
end
redis.call('PEXPIRE', issued, ARGV[5])
return KEYS[3] and claimDay(KEYS[3], ARGV[6], KEYS[2], ARGV[1], ARGV[7]) and 1 or 0
