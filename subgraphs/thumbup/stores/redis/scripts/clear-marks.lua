#!lua flags=allow-oom
-- clear-marks: takes over the record store's row and removes the dirty mark, if the version has not moved since it was read.
-- If it has moved, only notes the counted mark, unless that is newer than this row. Then trims.
-- KEYS[1] last version (string)  KEYS[2] dirty marks (zset)  KEYS[3] tombstones (zset)
-- KEYS[4..] per viewer and business: marks (hash), likes (zset), dislikes (zset)
-- ARGV[1] cap of likes, and of dislikes
-- ARGV[2] the keys, one after another: place in groups from 0 (2 bytes), version that was read (7), the row: mark (1),
--        markedAt (6), version (7); oid after its length (1)
-- ARGV[3..] per viewer and business: packed viewer + business
-- include: mark
local cap, keys = tonumber(ARGV[1]), ARGV[2]
local clock = readClock(KEYS[1])
local groups = {}

local function clear(group, oid, version, row)
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
  redis.call('ZREM', KEYS[2], member)
  if row.mark ~= held.mark or row.markedAt ~= held.markedAt then placeMark(group, oid, held.mark, row.mark, row.markedAt) end
  if row.mark == NONE then
    row.counted, row.dirty = NONE, false
    redis.call('HSET', group.marks, oid, packMark(row))
    redis.call('ZADD', KEYS[3], whole(row.markedAt), member)
  else
    redis.call('HDEL', group.marks, oid)
    if held.mark == NONE and not held.dirty then redis.call('ZREM', KEYS[3], member) end
  end
  -- The next write at the same time must win over this row.
  clock.last = math.max(clock.last, row.version)
end

local at = 1
while at <= #keys do
  local place, version, mark, markedAt, rowVersion, oid
  place, version, mark, markedAt, rowVersion, oid, at = struct.unpack('>HI7BI6I7Bc0', keys, at)
  local group = groups[place]
  if not group then
    group = openMarks(4 + place * 3, ARGV[3 + place])
    groups[place] = group
  end
  clear(group, oid, version, { mark = mark, markedAt = markedAt, version = rowVersion })
end

for _, group in pairs(groups) do
  trimMarks(group, cap, clock)
  storeState(group)
end
storeClock(KEYS[1], clock)
return 0
