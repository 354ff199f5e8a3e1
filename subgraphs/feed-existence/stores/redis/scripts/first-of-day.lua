-- first-of-day: claims a day for a viewer, once, and leaves the reward until the log has it. Included by the scripts in whose step
-- that happens. `flags` is a page of bits or a set (subgraphs/feed-existence/stores/redis/day-flags.ts); `place` a bit's number, or '=' and a member.
-- `reward` is what waits in `rewards` (zset), with the time of the claim. True if the day was nobody's.
local FLAGS_KEPT = 172800000

local function claimDay(flags, place, rewards, now, reward)
  local isFirst
  if string.sub(place, 1, 1) == '=' then
    isFirst = redis.call('SADD', flags, string.sub(place, 2)) == 1
  else
    isFirst = redis.call('SETBIT', flags, place, 1) == 0
  end
  if not isFirst then return false end
  -- Counted from the last claim: a day's flags are asked for on that day and, of what was played, on the next.
  redis.call('PEXPIRE', flags, FLAGS_KEPT)
  redis.call('ZADD', rewards, now, reward)
  return true
end
