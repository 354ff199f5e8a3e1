#!lua flags=allow-oom
-- list-changes: the noted changes of regions, from a tick on. Each region by itself is of one moment. A region without a clock is new, or the
-- store was lost: its clock begins now, and all earlier changes are forgotten. So readers distrust the values that they have.
-- KEYS per region: noted changes (zset). On a single server keys of many regions, in a Cluster one key
-- ARGV[1] changes to return at most, so that the script is short  ARGV[2..] per region: the first tick
-- returns the number of regions that were read, the first ones, then of each with changes: its place, members and ticks alternating
-- include: clock
if redis.call('EXISTS', unpack(KEYS)) < #KEYS then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.ceil(time[2] / 1000)
  for region = 1, #KEYS do
    if redis.call('EXISTS', KEYS[region]) == 0 then nextTick(KEYS[region], tickAt(now), 0) end
  end
end
local left = tonumber(ARGV[1])
local answers = {0}
for region = 1, #KEYS do
  if left <= 0 then break end
  local changed = redis.call('ZRANGEBYSCORE', KEYS[region], ARGV[region + 1], '+inf', 'WITHSCORES', 'LIMIT', 0, left)
  answers[1] = region
  if #changed > 0 then
    answers[#answers + 1] = region
    answers[#answers + 1] = changed
    left = left - #changed / 2
  end
end
return answers
