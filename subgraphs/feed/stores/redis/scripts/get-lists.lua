#!lua flags=no-writes
-- get-lists: reads outboxes or inboxes, each with its version. All of one moment.
-- KEYS[1] noted changes (zset)  KEYS[2..] per list: added ids (string), removed ids (zset)   all with the region's hash tag
-- ARGV per list: cache key
-- returns per list: added ids or nil, removed ids (array, in order of removal), tick of the noted change or nil
local answers = {}
for list = 1, #ARGV do
  answers[#answers + 1] = redis.call('GET', KEYS[list * 2])
  answers[#answers + 1] = redis.call('ZRANGE', KEYS[list * 2 + 1], 0, -1)
  answers[#answers + 1] = redis.call('ZSCORE', KEYS[1], ARGV[list])
end
return answers
