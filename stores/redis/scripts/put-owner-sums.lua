#!lua
-- put-owner-sums: keeps likes received unless newer ones are cached.
-- KEYS[1..] per owner: `likes,version` (string)   all with the region's hash tag
-- ARGV[1] ms to keep them  ARGV[2..] per owner: likes, version
-- include: newer
for at = 1, #KEYS do
  local likes, version = ARGV[at * 2], ARGV[at * 2 + 1]
  local cached = redis.call('GET', KEYS[at])
  if not (cached and isNewer(string.match(cached, '[0-9]+$'), version)) then
    redis.call('SET', KEYS[at], likes .. ',' .. version, 'PX', ARGV[1])
  end
end
return 0
