#!lua flags=allow-oom
-- clear-dirty: removes dirty marks of keys whose versions have not moved. Atomic.
-- KEYS[1] dirty marks (zset)  KEYS[2..] per key: its contents (string)   all with the region's hash tag
-- ARGV per key: member of the dirty mark, version
-- returns nothing
-- include: clock
for at = 2, #KEYS do
  local tail = redis.call('GETRANGE', KEYS[at], -8, -1)
  if #tail == 8 and versionOf(tail) == tonumber(ARGV[at * 2 - 2]) then redis.call('ZREM', KEYS[1], ARGV[at * 2 - 3]) end
end
