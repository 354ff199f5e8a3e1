#!lua
-- put-counts: keeps counts unless newer ones are cached, and publishes those that changed, in one message.
-- KEYS[1..] per subject: counts (string), their version (string)   all with the region's hash tag
-- ARGV[1] channel of the region  ARGV[2..] per subject: likes, dislikes, version, ms to keep them, business:oid
-- include: newer
local isFollowed = redis.call('PUBSUB', 'SHARDNUMSUB', ARGV[1])[2] > 0
local changed = {}

for at = 1, #KEYS, 2 do
  local from = 1 + (at - 1) / 2 * 5
  local likes, dislikes, version, keptMs = ARGV[from + 1], ARGV[from + 2], ARGV[from + 3], ARGV[from + 4]
  local cached = redis.call('GET', KEYS[at + 1])
  if not isNewer(cached, version) then
    local counts = likes .. ',' .. dislikes
    redis.call('SET', KEYS[at], counts, 'PX', keptMs)
    redis.call('SET', KEYS[at + 1], version, 'PX', keptMs)
    if isFollowed and cached ~= version then
      local name, value = ARGV[from + 5], counts .. ',' .. version
      changed[#changed + 1] = struct.pack('>Bc0Bc0', #name, name, #value, value)
    end
  end
end
if #changed > 0 then redis.call('SPUBLISH', ARGV[1], table.concat(changed)) end
return 0
