#!lua
-- put-marks: writes marks unless newer ones exist, and marks them dirty. Atomic per region.
-- KEYS[1..] per region: last version (string), dirty marks (zset), tombstones (zset)
-- then per viewer and business: marks (hash), likes (zset), dislikes (zset)   all with the region's hash tag
-- ARGV[1] now (ms)  ARGV[2] cap of likes, and of dislikes  ARGV[3] expiry of idle viewers (ms; 0 never)
-- ARGV[4] regions, more than one only on a single server
-- ARGV[5] the writes, one after another: places in regions and in groups from 0 (2 bytes each); packed viewer + business of the group after
--        its length (1), which is 0 except in the first write of a group; bits (1): mark, 4 base known, 8 the base has a row, 16 blind;
--        markedAt (6), oid and base, each after its length (1). A known base begins with its clock (7)
-- returns per write its status (1 byte): 0 stale, and the stored record; 1 written, the old mark (1) and the record;
--        2 needs base, whether the viewer is unknown (1), and the clock for the base (7)
-- include: mark
local now, cap, expireMs = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local groupsAt, writes = 1 + 3 * tonumber(ARGV[4]), ARGV[5]
local STALE, WRITTEN, NEEDS_BASE = 0, 1, 2
local regions, groups = {}, {}

local function put(group, oid, mark, markedAt, base, blind)
  local state, region = group.state, group.region
  local clock = region.clock
  local held = findMark(group, oid)
  local stored = held
  if not held then
    local valid = base and base.asOf >= state.leftAt
    if not valid and not blind and (state.kind ~= COMPLETE or markedAt < state.droppedBefore) then
      return struct.pack('>BBI7', NEEDS_BASE, state.kind == UNKNOWN and 1 or 0, clock.last)
    end
    stored = valid and base.record
  end
  if stored and (markedAt < stored.markedAt or (markedAt == stored.markedAt and mark == stored.mark)) then
    return string.char(STALE) .. packRecord(stored)
  end
  local old = stored and stored.mark or NONE
  -- A base may carry a version from before the hot store was lost. New versions must be higher.
  clock.last = math.max(clock.last + 1, now * 1024, (stored and stored.version or 0) + 1)
  local entry = { mark = mark, counted = held and held.counted or old, dirty = true, markedAt = markedAt, version = clock.last }
  entry.countedAt = held and held.countedAt or stored and stored.markedAt or 0
  if noteExpiry(group, now, expireMs) then
    redis.call('HSET', group.marks, oid, packMark(entry), '', packState(state))
  else
    redis.call('HSET', group.marks, oid, packMark(entry))
  end
  placeMark(group, oid, held and held.mark or NONE, mark, markedAt)
  if not (held and held.dirty) then
    redis.call('ZADD', region.dirty, 'NX', whole(now), group.prefix .. oid)
    if held and held.mark == NONE then redis.call('ZREM', region.undone, group.prefix .. oid) end
  end
  group.written = true
  return string.char(WRITTEN, old) .. packRecord(entry)
end

local replies = {}
local at = 1
while at <= #writes do
  local region, place, prefix, bits, markedAt, oid, packed
  region, place, prefix, bits, markedAt, oid, packed, at = struct.unpack('>HHBc0BI6Bc0Bc0', writes, at)
  local group = groups[place]
  if not group then
    group = openMarks(groupsAt + place * 3, prefix, oid)
    group.region = openRegion(regions, region)
    groups[place] = group
  end
  local base
  if bits % 8 >= 4 then
    base = { asOf = struct.unpack('>I7', packed) }
    if bits % 16 >= 8 then base.record = unpackMark(string.sub(packed, 8)) end
  end
  replies[#replies + 1] = put(group, oid, bits % 4, markedAt, base, bits >= 16)
end

for _, group in pairs(groups) do
  if group.written then
    -- Trim at the end, so that a base stays true through the call. Also if no list has grown: a list that an unpersisted mark kept beyond
    -- its cap may have another oldest mark now.
    trimMarks(group, cap, group.region.clock)
    storeState(group)
    putOffExpiry(group, expireMs)
  end
end
for _, region in pairs(regions) do storeClock(region.version, region.clock) end
return replies
