#!lua
-- clear-counters: removes the dirty marks of subjects whose version has not moved. Atomic per region.
-- KEYS[1] dirty subjects (zset)  KEYS[2] their versions (hash)
-- ARGV per subject: packed oid and business, version
local members = {}
for at = 1, #ARGV, 2 do members[#members + 1] = ARGV[at] end
local gone = {}
for place, version in ipairs(redis.call('HMGET', KEYS[2], unpack(members))) do
  if version == ARGV[2 * place] then gone[#gone + 1] = members[place] end
end
if #gone > 0 then
  redis.call('ZREM', KEYS[1], unpack(gone))
  redis.call('HDEL', KEYS[2], unpack(gone))
end
return #gone
