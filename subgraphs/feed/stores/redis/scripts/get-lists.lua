#!lua flags=no-writes
-- get-lists: reads outboxes or inboxes, each with its version. All of one moment.
-- KEYS[1] noted changes (zset)  KEYS[2..] per list: added ids (string), removed ids (zset)   all with the region's hash tag
-- ARGV[1] added ids to return at most, or 0 for all  ARGV[2] only those below this id (8 bytes), or empty  ARGV[3..] per list: cache key
-- returns per list: added ids or nil, 1 if there are lower ones, removed ids (array, in order of removal), tick of the noted change or nil
-- include: vector
local most, before = tonumber(ARGV[1]), ARGV[2]
local answers = {}

local function addAll(key)
  answers[#answers + 1] = redis.call('GET', key)
  answers[#answers + 1] = 0
end

local function addNewest(key)
  local stop = before == '' and redis.call('STRLEN', key) or placeInKey(key, before)
  local start = math.max(0, stop - most * 8)
  answers[#answers + 1] = stop > 0 and redis.call('GETRANGE', key, start, stop - 1)
  answers[#answers + 1] = start > 0 and 1 or 0
end

for list = 1, #ARGV - 2 do
  local add = most == 0 and addAll or addNewest
  add(KEYS[list * 2])
  answers[#answers + 1] = redis.call('ZRANGE', KEYS[list * 2 + 1], 0, -1)
  answers[#answers + 1] = redis.call('ZSCORE', KEYS[1], ARGV[list + 2])
end
return answers
