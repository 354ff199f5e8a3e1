#!lua flags=allow-oom
-- purge-marks: drops persisted tombstones. Late writes of the dropped keys then ask for a base.
-- KEYS[1] last version (string)  KEYS[2] tombstones (zset)  KEYS[3..] per viewer and business: marks (hash), likes, dislikes (zsets)
-- ARGV[1] undone at or before (ms)  ARGV[2..] in turn: place in groups from 0, packed viewer + business, oid
-- returns the number of dropped tombstones
-- include: mark
local undoneBefore = tonumber(ARGV[1])
local clock = readClock(KEYS[1])
local groups = {}
local gone = 0
for at = 2, #ARGV, 3 do
  local place, prefix, oid = tonumber(ARGV[at]), ARGV[at + 1], ARGV[at + 2]
  local group = groups[place] or openMarks(3 + place * 3, prefix)
  groups[place] = group
  local value = redis.call('HGET', group.marks, oid)
  local held = value and unpackMark(value)
  local isTombstone = held and held.mark == NONE and not held.dirty
  if not isTombstone then
    redis.call('ZREM', KEYS[2], prefix .. oid)
  elseif held.markedAt <= undoneBefore then
    redis.call('ZREM', KEYS[2], prefix .. oid)
    redis.call('HDEL', group.marks, oid)
    noteLeft(group, held.markedAt, clock)
    gone = gone + 1
  end
end
for _, group in pairs(groups) do storeState(group) end
storeClock(KEYS[1], clock)
return gone
