#!lua
-- fill-marks: makes an unknown viewer known in a business, from the record store. Held marks stay as they are.
-- Nothing changes if the viewer is known, or if one of their marks has left since the rows were read.
-- KEYS[1] last version (string)  KEYS[2] marks (hash)  KEYS[3] likes (zset)  KEYS[4] dislikes (zset)   with the region's hash tag
-- ARGV[1] cap of likes, and of dislikes  ARGV[2] expiry of idle viewers (ms; 0 never)  ARGV[3] clock at which reading began
-- ARGV[4] 1 if the rows are complete  ARGV[5] packed viewer + business
-- ARGV[6] the rows, one after another: mark (1), markedAt (6), oid after its length (1)
-- ARGV[7] the highest version of a row
-- include: mark
local cap, expireMs, asOf, rows = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[6]
local group = openMarks(2, ARGV[5])
local state = group.state
if state.kind ~= UNKNOWN or state.leftAt > asOf or (ARGV[4] ~= '1' and rows == '') then return 0 end
local clock = readClock(KEYS[1])

-- In lots, each looked up by three commands. Lookups row by row would block the server.
local LOT = 1000
local function take(lot, oids)
  local pending = redis.call('HMGET', group.marks, unpack(oids))
  local likes = redis.call('ZMSCORE', group.lists[LIKE], unpack(oids))
  local dislikes = redis.call('ZMSCORE', group.lists[DISLIKE], unpack(oids))
  local fresh = { [LIKE] = {}, [DISLIKE] = {} }
  for at = 1, #oids do
    if not pending[at] and not likes[at] and not dislikes[at] then
      local list = fresh[lot[at].mark]
      -- `whole` would keep a text for each of these times.
      list[#list + 1] = string.format('%.0f', lot[at].markedAt)
      list[#list + 1] = oids[at]
    end
  end
  for mark, members in pairs(fresh) do
    if #members > 0 then addToList(group, mark, unpack(members)) end
  end
end

local at, lot, oids, last = 1, {}, {}, nil
while at <= #rows do
  local mark, markedAt, oid
  mark, markedAt, oid, at = struct.unpack('>BI6Bc0', rows, at)
  lot[#lot + 1] = { mark = mark, markedAt = markedAt }
  oids[#oids + 1] = oid
  if not last or placeBefore(last.markedAt, last.id, markedAt, oid) then last = { markedAt = markedAt, id = oid } end
  if #oids == LOT or at > #rows then
    take(lot, oids)
    lot, oids = {}, {}
  end
end

group.changed = true
state.kind = COMPLETE
if ARGV[4] ~= '1' then
  state.kind, state.floorAt, state.floorId = TRUNCATED, last.markedAt, last.id
end
trimMarks(group, cap, clock)
noteExpiry(group, tonumber(redis.call('TIME')[1]) * 1000, expireMs)
storeState(group)
putOffExpiry(group, expireMs)
-- The next write at the same time must win over its row.
clock.last = math.max(clock.last, tonumber(ARGV[7]))
storeClock(KEYS[1], clock)
return 1
