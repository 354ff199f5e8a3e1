#!lua
-- fill-progress: takes over rows of the record store, tombstones included. They keep their versions and do not become dirty.
-- KEYS[1] last version (string)  KEYS[2] dirty marks (zset)  KEYS[3] tombstones (zset)
-- KEYS[4..] per viewer and business: contents (hash), timeline (zset), settings (hash)   all with the region's hash tag
-- ARGV[1] now (ms)  ARGV[2] timeline cap  ARGV[3] expiry of idle viewers (ms; 0 never)
-- ARGV[4] the rows, one after another: place in groups from 0 (2 bytes), oid and record, each after its length (1)
-- ARGV[5..] per viewer and business: packed viewer + business
-- include: record timeline
local now, cap, expireMs, rows = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local lastVersion = tonumber(redis.call('GET', KEYS[1]) or '0')
local versionBefore = lastVersion
local groups = {}

local function openGroup(place)
  local prefix, at = ARGV[5 + place], 4 + place * 3
  local business = struct.unpack('>H', prefix, #prefix - 1)
  groups[place] = openTimeline(prefix, KEYS[at], KEYS[at + 1], tonumber(redis.call('HGET', KEYS[at + 2], 'c' .. business) or '0'))
  return groups[place]
end

local function fill(group, oid, row)
  if row.viewedAt <= group.state.clearedAt then return end
  local value = redis.call('HGET', group.contents, oid)
  local held = value and unpackRecord(value) or nil
  -- A cleared record stays until it is persisted.
  if held and held.viewedAt <= group.state.clearedAt then held = nil end
  local merged = merge(held, row)
  if merged == held then return end
  lastVersion = math.max(lastVersion, merged.version)
  redis.call('HSET', group.contents, oid, packRecord(merged))
  group.written = true
  if merged.deleted then
    redis.call('ZREM', group.timeline, oid)
    redis.call('ZADD', KEYS[3], whole(math.floor(merged.version / 1024)), group.prefix .. oid)
  elseif redis.call('ZADD', group.timeline, whole(-merged.viewedAt), oid) == 1 and redis.call('ZCARD', group.timeline) == 1 then
    group.begun = true
  end
end

local at = 1
while at <= #rows do
  local place, oid, record
  place, oid, record, at = struct.unpack('>HBc0Bc0', rows, at)
  fill(groups[place] or openGroup(place), oid, unpackRecord(record))
end

for _, group in pairs(groups) do
  if group.written then
    trim(group, KEYS[2], cap, lastVersion)
    putOffExpiry(group, now, expireMs, group.begun)
    storeState(group)
  end
end
if lastVersion > versionBefore then redis.call('SET', KEYS[1], whole(lastVersion)) end
return 0
