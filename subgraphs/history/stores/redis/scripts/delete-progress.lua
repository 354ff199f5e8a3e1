#!lua
-- delete-progress: writes a tombstone per key, at the later of now and the stored time (the floor for trimmed entries), and
-- marks it dirty. Atomic per region.
-- KEYS[1] last version (string)  KEYS[2] dirty marks (zset)  KEYS[3] tombstones (zset)
-- KEYS[4] the answer of this call (string)
-- KEYS[5..] per viewer and business: contents (hash), timeline (zset)   all with the region's hash tag
-- ARGV[1] now (ms)  ARGV[2] expiry of idle viewers (ms; 0 never)
-- ARGV[3] the keys, one after another: place in groups from 0 (2 bytes), oid after its length (1)
-- ARGV[4..] per viewer and business: packed viewer + business, channel of the viewer
-- returns per key one byte, 1 if a visible record was deleted, and the tombstone
-- include: record timeline answer
local given = answerGiven(KEYS[4])
if given then return given end

local now, expireMs, keys = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local lastVersion = tonumber(redis.call('GET', KEYS[1]) or '0')
local groups = {}

local function openGroup(place)
  local at = 4 + place * 2
  local group = { prefix = ARGV[at], channel = ARGV[at + 1], contents = KEYS[at + 1], timeline = KEYS[at + 2] }
  group.state = unpackState(redis.call('HGET', group.contents, ''))
  group.changed = false
  groups[place] = group
  return group
end

local replies = {}
local at = 1
while at <= #keys do
  local place, oid
  place, oid, at = struct.unpack('>HBc0', keys, at)
  local group = groups[place] or openGroup(place)
  local value = redis.call('HGET', group.contents, oid)
  local stored = value and unpackRecord(value)
  local existed = stored and not stored.deleted and stored.viewedAt > group.state.clearedAt
  lastVersion = math.max(lastVersion + 1, now * 1024)
  local tombstone = packRecord({ viewedAt = math.max(now, stored and stored.viewedAt or group.state.floorAt), version = lastVersion, deleted = true })
  redis.call('HSET', group.contents, oid, tombstone)
  redis.call('ZREM', group.timeline, oid)
  redis.call('ZADD', KEYS[2], 'NX', whole(now), group.prefix .. oid)
  redis.call('ZADD', KEYS[3], whole(now), group.prefix .. oid)
  replies[#replies + 1] = (existed and '\1' or '\0') .. tombstone
  local business = struct.unpack('>H', group.prefix, #group.prefix - 1)
  redis.call('SPUBLISH', group.channel, 'd' .. struct.pack('>HBc0', business, #oid, oid) .. tombstone)
end

for _, group in pairs(groups) do putOffExpiry(group, now, expireMs, false) end
if #replies > 0 then redis.call('SET', KEYS[1], whole(lastVersion)) end
return giveAnswer(KEYS[4], replies)
