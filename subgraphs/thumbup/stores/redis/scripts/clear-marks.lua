#!lua flags=allow-oom
-- clear-marks: takes over the record store's row and removes the dirty mark, if the version has not moved since it was read.
-- If it has moved, only notes the counted mark, unless that is newer than this row. A clean mark changes only for a later row. Then trims.
-- KEYS[1..] per region: last version (string), dirty marks (zset), tombstones (zset)
-- then per viewer and business: marks (hash), likes (zset), dislikes (zset)
-- ARGV[1] cap of likes, and of dislikes  ARGV[2] regions, more than one only on a single server
-- ARGV[3] the keys, one after another: places in regions and in groups from 0 (2 bytes each); packed viewer + business of the group after
--        its length (1), which is 0 except in the first key of a group; version that was read (7), the row: mark (1), markedAt (6),
--        version (7); oid after its length (1)
-- include: mark
local cap, groupsAt, keys = tonumber(ARGV[1]), 1 + 3 * tonumber(ARGV[2]), ARGV[3]
local regions, groups = {}, {}

local function clear(group, oid, version, row)
  local region = group.region
  local held = findMark(group, oid)
  if not held then return end
  if held.version ~= version then
    if held.dirty and row.markedAt >= held.countedAt and (held.counted ~= row.mark or held.countedAt ~= row.markedAt) then
      held.counted, held.countedAt = row.mark, row.markedAt
      redis.call('HSET', group.marks, oid, packMark(held))
    end
    return
  end
  local member = group.prefix .. oid
  redis.call('ZREM', region.dirty, member)
  -- The next write at the same time must win over this row.
  region.clock.last = math.max(region.clock.last, row.version)
  -- Clean likes and dislikes have no version. The read one may have been replaced since, and this clearing may be late.
  if not held.dirty and row.markedAt <= held.markedAt then return end
  if row.mark ~= held.mark or row.markedAt ~= held.markedAt then placeMark(group, oid, held.mark, row.mark, row.markedAt) end
  if row.mark == NONE then
    row.counted, row.dirty = NONE, false
    redis.call('HSET', group.marks, oid, packMark(row))
    redis.call('ZADD', region.undone, whole(row.markedAt), member)
  else
    redis.call('HDEL', group.marks, oid)
    if held.mark == NONE and not held.dirty then redis.call('ZREM', region.undone, member) end
  end
end

local at = 1
while at <= #keys do
  local region, place, prefix, version, mark, markedAt, rowVersion, oid
  region, place, prefix, version, mark, markedAt, rowVersion, oid, at = struct.unpack('>HHBc0I7BI6I7Bc0', keys, at)
  local group = groups[place]
  if not group then
    group = openMarks(groupsAt + place * 3, prefix, oid)
    group.region = openRegion(regions, region)
    groups[place] = group
  end
  clear(group, oid, version, { mark = mark, markedAt = markedAt, version = rowVersion })
end

for _, group in pairs(groups) do
  trimMarks(group, cap, group.region.clock)
  storeState(group)
  expireBegun(group)
end
for _, region in pairs(regions) do storeClock(region.version, region.clock) end
return 0
