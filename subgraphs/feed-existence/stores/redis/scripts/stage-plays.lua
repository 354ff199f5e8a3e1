#!lua
-- stage-plays: stages plays in a slot unless later ones of their subjects are staged, puts their viewers into the ring, and
-- claims days for them. Atomic per region.
-- KEYS[1] rewards not yet in the log (zset)  KEYS[2..] in turn, per viewer: staged (zset), the viewer's part of the slot's ring (set);
-- then per claim: the day's flags   all with the region's hash tag
-- ARGV[1] slot  ARGV[2] now (ms)  ARGV[3] number of viewers  ARGV[4] limit of a viewer's plays in the slot (0: no limit)
-- ARGV[5..] in turn, per viewer: viewer, their plays (see staged.lua);
-- then per claim: place, reward (see first-of-day.lua)
-- returns only -1, without any change, if a viewer is at the limit; else per viewer the number of plays staged in this slot,
-- then per claim 1 if the day was not yet claimed, else 0
-- include: staged first-of-day
local slot, viewers, max = tonumber(ARGV[1]), tonumber(ARGV[3]), tonumber(ARGV[4])
if max > 0 then
  for viewer = 1, viewers do
    if countStaged(KEYS[2 * viewer], slot) >= max then return { -1 } end
  end
end
local answers = {}
local folds = whole(-millisNow())
for viewer = 1, viewers do
  local staged = KEYS[2 * viewer]
  eachLot(ARGV[2 * viewer + 4], slot, function(members, scores)
    local entries = {}
    for each = 1, #members do
      entries[2 * each - 1] = whole(scores[each])
      entries[2 * each] = members[each]
    end
    redis.call('ZADD', staged, 'GT', unpack(entries))
  end)
  -- Creates the number of folds if there is none. It equals none that a reader may have cached by.
  redis.call('ZADD', staged, 'NX', folds, '')
  -- The key expires only while nothing is staged.
  redis.call('PERSIST', staged)
  redis.call('SADD', KEYS[2 * viewer + 1], ARGV[2 * viewer + 3])
  answers[viewer] = countStaged(staged, slot)
end
local argument = 2 * viewers + 5
for at = 2 * viewers + 2, #KEYS do
  answers[#answers + 1] = claimDay(KEYS[at], ARGV[argument], KEYS[1], ARGV[2], ARGV[argument + 1]) and 1 or 0
  argument = argument + 2
end
return answers
