#!lua
-- put-owner-sums: keeps likes received unless newer ones are cached.
-- KEYS[1..] per owner: `likes,version` (string)   all with the region's hash tag
-- ARGV[1..] per owner: likes, version, ms to keep them
-- include: newer
for at = 1, #KEYS do
  local likes, version, keptMs = ARGV[at * 3 - 2], ARGV[at * 3 - 1], ARGV[at * 3]
  local cached = redis.call('GET', KEYS[at])
  if not (cached and isNewer(string.match(cached, '[0-9]+$'), version)) then
    redis.call('SET', KEYS[at], likes .. ',' .. version, 'PX', keptMs)
  end
end
return 0
