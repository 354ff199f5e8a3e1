#!lua
-- put-progress: writes progress records unless newer ones exist, and marks them dirty. Atomic per region.
-- KEYS[1] last version (string)  KEYS[2] dirty marks (zset)  KEYS[3] pending rewards (zset)
-- KEYS[4..] per viewer and business: contents (hash), timeline (zset), settings (hash)
-- then, if a write claims a day for all businesses, per viewer and business: the viewer's last such day (string)
-- all with the region's hash tag
-- ARGV[1] now (ms)  ARGV[2] timeline cap  ARGV[3] expiry of idle viewers (ms; 0 never)
-- ARGV[4] the writes, one after another: place in groups from 0 (2 bytes), bits (1): 1 decisive, 2 base known, 4 base present,
--         8 claims a day, 16 the base itself is put, to be merged, 32 the day is claimed for all businesses; viewedAt (6),
--         rank (7), day (4), oid, resume point and base, each after its length (1). A known base begins with its asOf (7)
-- ARGV[5..] per viewer and business: packed viewer + business, channel of the viewer
-- returns per write its status (1 byte: 0 stale, 1 written, 2 paused, 3 needs base, 4 written, first of the day). Status 1 and 4
--         are followed by the length of the merged record (1), the record, and the previous record, if any; status 0 by the newest
--         clearing or deletion (6), and the stored visible record, if any; status 3 by the required asOf of the base (7)
-- include: record timeline changes
local now, cap, expireMs, writes = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
-- A zone's today may be two days after the end of a day elsewhere, and a day may have 25 hours.
local DAY_KEPT_MS = 259200000
local STALE, WRITTEN, PAUSED, NEEDS_BASE, FIRST = '\0', '\1', '\2', '\3', '\4'

local lastVersion = tonumber(redis.call('GET', KEYS[1]) or '0')
local versionBefore = lastVersion
local groups = {}

local function openGroup(place)
  local prefix = ARGV[5 + place * 2]
  local business = struct.unpack('>H', prefix, #prefix - 1)
  local at = 4 + place * 3
  local switches = redis.call('HMGET', KEYS[at + 2], 'paused', 'c' .. business)
  local group = openTimeline(prefix, KEYS[at], KEYS[at + 1], tonumber(switches[2] or '0'))
  group.business = business
  group.changes = {}
  group.channel = ARGV[6 + place * 2]
  group.claimedDay = KEYS[4 + (#ARGV - 4) / 2 * 3 + place]
  group.paused = switches[1] == '1'
  groups[place] = group
  return group
end

local function visible(record, clearedAt)
  return record and not record.deleted and record.viewedAt > clearedAt
end

local function claimDay(group, day, isForAll, version)
  local prefix, business = group.prefix, group.business
  if isForAll then
    if day <= tonumber(redis.call('GET', group.claimedDay) or '-1') then return false end
    redis.call('SET', group.claimedDay, whole(day), 'PX', DAY_KEPT_MS)
    prefix, business = string.sub(prefix, 1, -3) .. '\0\0', 0
  else
    if day + 1 <= group.state.day then return false end
    group.state.day = day + 1
    group.changed = true
  end
  redis.call('ZADD', KEYS[3], whole(now), prefix .. struct.pack('>I4', day))
  if group.followed then table.insert(group.changes, dayChange(business, day, version)) end
  return true
end

-- `baseAsOf` is -1 if no base is known.
local function put(group, oid, incoming, decisive, baseAsOf, base, claim, merges)
  if group.paused and not merges then return PAUSED end
  local clearedAt = group.state.clearedAt
  local value = redis.call('HGET', group.contents, oid)
  local held = value and unpackRecord(value)
  if merges and not held then return STALE .. struct.pack('>I6', clearedAt) end
  local before = value or base
  local stored = held or (base and unpackRecord(base))
  if not held and incoming.viewedAt > clearedAt and group.state.floorOid ~= '' and baseAsOf < group.state.trimmedAt then
    if not decisive or incoming.viewedAt <= group.state.floorAt then return NEEDS_BASE .. struct.pack('>I7', group.state.trimmedAt) end
  end
  incoming.since = merges and math.max(clearedAt, unpackRecord(base).since) or clearedAt
  incoming.version = math.max(lastVersion + 1, now * 1024)
  local merged = stored
  if incoming.viewedAt > clearedAt then merged = merge(stored, incoming) end
  if merged == stored then
    local answer = STALE .. struct.pack('>I6', math.max(clearedAt, stored and stored.since or 0))
    return visible(stored, clearedAt) and answer .. packRecord(stored) or answer
  end
  -- A base may have a version from before the hot store was lost. New versions never fall behind it.
  lastVersion = math.max(lastVersion, incoming.version, merged.version)
  local packed = packRecord(merged)
  redis.call('HSET', group.contents, oid, packed)
  redis.call('ZADD', KEYS[2], 'NX', whole(now), group.prefix .. oid)
  group.written = true
  if not visible(held, clearedAt) or held.viewedAt ~= merged.viewedAt then
    if redis.call('ZADD', group.timeline, whole(-merged.viewedAt), oid) == 1 then
      group.grown = true
      if redis.call('ZCARD', group.timeline) == 1 then group.begun = true end
    end
  end
  if group.followed then
    table.insert(group.changes, 'p' .. struct.pack('>HBc0', group.business, #oid, oid) .. packed)
  end
  local isFirst = claim and claimDay(group, claim.day, claim.isForAll, merged.version)
  return (isFirst and FIRST or WRITTEN) .. string.char(#packed) .. packed .. (before or '')
end

-- Asks for the followers of all viewers of the call at once. Most viewers have none, and nothing is published for them.
local channels = {}
for at = 6, #ARGV, 2 do channels[#channels + 1] = ARGV[at] end
local followers = redis.call('PUBSUB', 'SHARDNUMSUB', unpack(channels))

local replies = {}
local at = 1
while at <= #writes do
  local place, bits, viewedAt, rank, day, oid, resume, base
  place, bits, viewedAt, rank, day, oid, resume, base, at = struct.unpack('>HBI6I7I4Bc0Bc0Bc0', writes, at)
  local group = groups[place]
  if not group then
    group = openGroup(place)
    group.followed = followers[place * 2 + 2] > 0
  end
  local incoming = { viewedAt = viewedAt, rank = rank, deleted = false, resume = resume }
  local baseAsOf, hasBase, merges = -1, bits % 8 >= 4, bits % 32 >= 16
  local claim = bits % 16 >= 8 and { day = day, isForAll = bits >= 32 }
  if bits % 4 >= 2 then baseAsOf = struct.unpack('>I7', base) end
  replies[#replies + 1] = put(group, oid, incoming, bits % 2 == 1, baseAsOf, hasBase and string.sub(base, 8), claim, merges)
end

for _, group in pairs(groups) do
  if group.written then
    -- After all writes, so that a base stays valid through the call.
    if group.grown then trim(group, KEYS[2], cap, lastVersion) end
    putOffExpiry(group, now, expireMs, group.begun)
    storeState(group)
    for _, change in ipairs(group.changes) do redis.call('SPUBLISH', group.channel, change) end
  end
end
if lastVersion > versionBefore then redis.call('SET', KEYS[1], whole(lastVersion)) end
return replies
