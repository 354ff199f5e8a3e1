#!lua
-- fill-settings: takes over a viewer's settings of the record store. They do not become dirty. A later clearing removes the entries up to
-- its moment, and leaves newer ones.
-- KEYS[1] last version (string)  KEYS[2] dirty marks (zset)  KEYS[3] settings (hash)
-- KEYS[4..] per clearing: contents (hash), timeline (zset)   all with the region's hash tag
-- ARGV[1] now (ms)  ARGV[2] expiry of idle viewers (ms; 0 never)  ARGV[3] dirty mark of the settings  ARGV[4] paused (1 or 0)
-- ARGV[5] version
-- ARGV[6..] per clearing: packed viewer + business, its moment (ms)
-- include: record timeline
local now, expireMs, version = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[5])
local heldVersion = tonumber(redis.call('HGET', KEYS[3], 'version') or '0')

for at = 6, #ARGV, 2 do
  local prefix, clearedAt = ARGV[at], tonumber(ARGV[at + 1])
  local field = 'c' .. struct.unpack('>H', prefix, #prefix - 1)
  if clearedAt > tonumber(redis.call('HGET', KEYS[3], field) or '0') then
    local group = openTimeline(prefix, KEYS[at - 2], KEYS[at - 1], clearedAt)
    removeUntil(group, KEYS[2], clearedAt)
    redis.call('HSET', KEYS[3], field, whole(clearedAt))
    putOffExpiry(group, now, expireMs, true)
    storeState(group)
  end
end

if version > heldVersion or not redis.call('ZSCORE', KEYS[2], ARGV[3]) then redis.call('HSET', KEYS[3], 'paused', ARGV[4]) end
redis.call('HSET', KEYS[3], 'version', whole(math.max(version, heldVersion)))
if version > tonumber(redis.call('GET', KEYS[1]) or '0') then redis.call('SET', KEYS[1], whole(version)) end
return 0
