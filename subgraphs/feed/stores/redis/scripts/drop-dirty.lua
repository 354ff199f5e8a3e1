#!lua flags=allow-oom
-- drop-dirty: removes dirty marks whose contents are missing. Atomic.
-- KEYS[1] dirty marks (zset)  KEYS[2..] per key: its contents (string)   all with the region's hash tag
-- ARGV per key: member of the dirty mark
-- returns nothing
for at = 2, #KEYS do
  if redis.call('EXISTS', KEYS[at]) == 0 then redis.call('ZREM', KEYS[1], ARGV[at - 1]) end
end
