#!lua
-- put-counts: keeps counts unless newer ones are cached, and tells followers of those that changed.
-- KEYS[1..] per subject: counts (string), their version (string)   all with the region's hash tag
-- ARGV[1..] per subject: likes, dislikes, version, ms to keep them, channel
-- include: newer
-- One look at the followers for all subjects of the call: most have none, and then nothing is published.
local channels = {}
for at = 5, #ARGV, 5 do channels[#channels + 1] = ARGV[at] end
local followers = redis.call('PUBSUB', 'SHARDNUMSUB', unpack(channels))

for at = 1, #KEYS, 2 do
  local from = (at - 1) / 2 * 5
  local likes, dislikes, version, keptMs = ARGV[from + 1], ARGV[from + 2], ARGV[from + 3], ARGV[from + 4]
  local cached = redis.call('GET', KEYS[at + 1])
  if not isNewer(cached, version) then
    local counts = likes .. ',' .. dislikes
    redis.call('SET', KEYS[at], counts, 'PX', keptMs)
    redis.call('SET', KEYS[at + 1], version, 'PX', keptMs)
    if cached ~= version and followers[at + 1] > 0 then
      redis.call('SPUBLISH', ARGV[from + 5], counts .. ',' .. version)
    end
  end
end
return 0
