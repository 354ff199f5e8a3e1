-- first-of-day: claims a day for a viewer, once, and keeps the reward until the log has it. Included by the scripts that claim
-- in the same step. `flags` is a page of bits or a set (subgraphs/feed-existence/stores/redis/day-flags.ts); `place` is a bit's
-- number, or '=' and a member. `reward` waits in `rewards` (zset) with the time of the claim. True if the day was not yet claimed.
local FLAGS_KEPT = 259200000

local function claimDay(flags, place, rewards, now, reward)
  local isFirst
  if string.sub(place, 1, 1) == '=' then
    isFirst = redis.call('SADD', flags, string.sub(place, 2)) == 1
  else
    isFirst = redis.call('SETBIT', flags, place, 1) == 0
  end
  if not isFirst then return false end
  -- Counted from the last claim. A day's flags are read on that day and, for plays, on the next: for 49 hours if the clocks go back.
  redis.call('PEXPIRE', flags, FLAGS_KEPT)
  redis.call('ZADD', rewards, now, reward)
  return true
end
