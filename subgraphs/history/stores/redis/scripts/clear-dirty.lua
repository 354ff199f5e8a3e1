#!lua flags=allow-oom
-- clear-dirty: removes dirty marks whose version has not moved since it was read, then trims. Records that were cleared but
-- not yet persisted are removed as well.
-- KEYS[1] dirty marks (zset)  KEYS[2] last version (string)
-- KEYS[3..] per viewer and business: contents (hash), timeline (zset); for settings: settings (hash), twice
-- ARGV[1] timeline cap
-- ARGV[2] the keys, one after another: place in groups from 0 (2 bytes), version (7), oid after its length (1)
-- ARGV[3..] per viewer and business: packed viewer + business; for settings the business is 0
-- include: record timeline
local cap, keys = tonumber(ARGV[1]), ARGV[2]
local groups = {}

local function openGroup(place)
  local prefix = ARGV[3 + place]
  local at = 3 + place * 2
  local group = { prefix = prefix, contents = KEYS[at], timeline = KEYS[at + 1], changed = false }
  group.settings = struct.unpack('>H', prefix, #prefix - 1) == 0
  if not group.settings then group.state = unpackState(redis.call('HGET', group.contents, '')) end
  groups[place] = group
  return group
end

local function clearRecord(group, oid, version)
  local value = redis.call('HGET', group.contents, oid)
  if not value then return end
  local record = unpackRecord(value)
  if record.version ~= version then return end
  redis.call('ZREM', KEYS[1], group.prefix .. oid)
  if not record.deleted and record.viewedAt <= group.state.clearedAt then redis.call('HDEL', group.contents, oid) end
end

local at = 1
while at <= #keys do
  local place, version, oid
  place, version, oid, at = struct.unpack('>HI7Bc0', keys, at)
  local group = groups[place] or openGroup(place)
  if not group.settings then
    clearRecord(group, oid, version)
  elseif tonumber(redis.call('HGET', group.contents, 'version') or '-1') == version then
    redis.call('ZREM', KEYS[1], group.prefix .. oid)
  end
end

local lastVersion = tonumber(redis.call('GET', KEYS[2]) or '0')
for _, group in pairs(groups) do
  if not group.settings then
    trim(group, KEYS[1], cap, lastVersion)
    storeState(group)
  end
end
return 0
