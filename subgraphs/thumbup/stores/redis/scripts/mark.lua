-- mark: one viewer's marks in one business, and their changes. Included by the scripts that change marks.
-- subgraphs/thumbup/stores/redis/keys.ts describes the keys, values.ts the bytes. Lua numbers are doubles: all below 2^53.
-- A group is { prefix = packed viewer + business, marks = key, lists = keys by mark, sizes = of `lists` by mark, read when needed,
-- state = table, changed = boolean, begun = true if the expiry of the keys must be set }; the caller stores the state if `changed`.
-- `clock` is { last = the last version given in the region }.
local NONE, LIKE, DISLIKE = 0, 1, 2
local UNKNOWN, COMPLETE, TRUNCATED = 0, 1, 2

-- Numbers as texts. In a call, expiries repeat, and so do times unless the marks have their own.
local texts = {}
local function whole(number)
  local text = texts[number]
  if not text then
    text = string.format('%.0f', number)
    texts[number] = text
  end
  return text
end

-- A mark: mark and counted mark (2 bits each), 16 if dirty; markedAt (6), version (7). A dirty mark also has countedAt (6), the
-- markedAt of the counted row: 0 or missing if unknown. A clean mark's countedAt is its own markedAt.
local function unpackMark(value)
  local bits, markedAt, version = struct.unpack('>BI6I7', value)
  local mark = bits % 4
  local held = { mark = mark, counted = (bits - mark) / 4 % 4, dirty = bits >= 16, markedAt = markedAt, version = version }
  held.countedAt = not held.dirty and markedAt or #value >= 20 and struct.unpack('>I6', value, 15) or 0
  return held
end

local function packMark(held)
  local packed = struct.pack('>BI6I7', held.mark + held.counted * 4 + (held.dirty and 16 or 0), held.markedAt, held.version)
  return held.dirty and packed .. struct.pack('>I6', held.countedAt) or packed
end

-- The answer for a mark: mark (1), markedAt (6), version (7).
local function packRecord(record)
  return struct.pack('>BI6I7', record.mark, record.markedAt, record.version)
end

-- droppedBefore: 1 + the latest markedAt that ever left. leftAt: the region's clock when a mark last left.
-- expiredOn: the day on which the expiry of the keys was last extended. floorId is '' without a floor.
local function unpackState(value)
  if not value then return { kind = UNKNOWN, droppedBefore = 0, leftAt = 0, expiredOn = 0, floorAt = 0, floorId = '' } end
  local kind, droppedBefore, leftAt, expiredOn, floorAt, at = struct.unpack('>BI6I7I4I6', value)
  local state = { kind = kind, droppedBefore = droppedBefore, leftAt = leftAt, expiredOn = expiredOn }
  state.floorAt, state.floorId = floorAt, string.sub(value, at)
  return state
end

local function packState(state)
  return struct.pack('>BI6I7I4I6', state.kind, state.droppedBefore, state.leftAt, state.expiredOn, state.floorAt) .. state.floorId
end

local function storeState(group)
  if group.changed then redis.call('HSET', group.marks, '', packState(group.state)) end
end

-- KEYS from `at`: marks (hash), likes (zset), dislikes (zset).
-- `oid`: the mark that the first `findMark` looks up. One HMGET reads it together with the state.
local function openMarks(at, prefix, oid)
  local group = { prefix = prefix, marks = KEYS[at], lists = { [LIKE] = KEYS[at + 1], [DISLIKE] = KEYS[at + 2] }, sizes = {} }
  local values = oid and redis.call('HMGET', group.marks, '', oid) or { redis.call('HGET', group.marks, '') }
  group.state, group.first, group.changed = unpackState(values[1]), values[2], false
  return group
end

local function sizeOf(group, mark)
  if not group.sizes[mark] then group.sizes[mark] = redis.call('ZCARD', group.lists[mark]) end
  return group.sizes[mark]
end

local function addToList(group, mark, ...)
  local size = sizeOf(group, mark)
  group.sizes[mark] = size + redis.call('ZADD', group.lists[mark], ...)
  -- The new list has no expiry yet.
  if size == 0 then group.begun = true end
end

local function removeFromList(group, mark, ...)
  group.sizes[mark] = sizeOf(group, mark) - redis.call('ZREM', group.lists[mark], ...)
end

-- A clean like or dislike has no version: no change of it waits to be persisted.
local function findMark(group, oid)
  local value = group.first
  if value == nil then value = redis.call('HGET', group.marks, oid) end
  group.first = nil
  if value then return unpackMark(value) end
  if group.state.kind == UNKNOWN and not group.sizes[LIKE] and redis.call('EXISTS', group.lists[LIKE], group.lists[DISLIKE]) == 0 then
    group.sizes = { [LIKE] = 0, [DISLIKE] = 0 }
  end
  for mark = LIKE, DISLIKE do
    local score = sizeOf(group, mark) > 0 and redis.call('ZSCORE', group.lists[mark], oid)
    local markedAt = score and tonumber(score)
    if markedAt then return { mark = mark, counted = mark, countedAt = markedAt, dirty = false, markedAt = markedAt, version = 0 } end
  end
end

-- Moves an oid to the list of its mark.
local function placeMark(group, oid, old, mark, markedAt)
  if old ~= mark and old ~= NONE then removeFromList(group, old, oid) end
  if mark ~= NONE then addToList(group, mark, whole(markedAt), oid) end
end

-- Byte order. Not `<`: Lua compares strings by the server's locale.
local function bytesBefore(a, b)
  for at = 1, math.min(#a, #b) do
    local x, y = string.byte(a, at), string.byte(b, at)
    if x ~= y then return x < y end
  end
  return #a < #b
end

local LARGEST = '9223372036854775807'
local function isInteger(id)
  if id == '0' then return true end
  return #id <= 19 and string.find(id, '^[1-9][0-9]*$') ~= nil and (#id < 19 or not bytesBefore(LARGEST, id))
end

-- The order of core/keys.ts compareIds: integers by value, then all others by length and bytes.
local function idBefore(a, b)
  local integer = isInteger(a)
  if integer ~= isInteger(b) then return integer end
  if #a ~= #b then return #a < #b end
  return bytesBefore(a, b)
end

-- The place of list order: newest first, then by id.
local function placeBefore(markedAt, id, otherAt, otherId)
  if markedAt ~= otherAt then return markedAt > otherAt end
  return idBefore(id, otherId)
end

-- The `count` last places of a list, the last first. Redis orders ties by text, and we by id, so all ties at the boundary are
-- compared. Of more than TIES_MAX only some are compared. An older mark may then stay, and its floor includes it.
local TIES_MAX = 1000
local function oldestOf(list, count)
  local answer = redis.call('ZRANGE', list, 0, count, 'WITHSCORES')
  local boundary, beyond = answer[2 * count], answer[2 * count + 2]
  local places = {}
  for at = 1, math.min(2 * count, #answer), 2 do
    if answer[at + 1] ~= boundary or beyond ~= boundary then
      places[#places + 1] = { id = answer[at], markedAt = tonumber(answer[at + 1]) }
    end
  end
  if beyond == boundary then
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', list, boundary, boundary, 'LIMIT', 0, TIES_MAX)) do
      places[#places + 1] = { id = id, markedAt = tonumber(boundary) }
    end
  end
  if #places > 1 then
    table.sort(places, function(a, b) return placeBefore(b.markedAt, b.id, a.markedAt, a.id) end)
  end
  return places
end

-- Notes that a mark leaves. A base or a fill that was read before is then refused, and late writes ask for a base.
local function noteLeft(group, markedAt, clock)
  local state = group.state
  state.droppedBefore = math.max(state.droppedBefore, markedAt + 1)
  clock.last = clock.last + 1
  state.leftAt = clock.last
  group.changed = true
end

-- Drops clean marks from the oldest end, and stops at the first dirty one: an unpersisted mark is nowhere else.
local CHUNK = 100
local function trimList(group, mark, cap, clock)
  local excess = sizeOf(group, mark) - cap
  while excess > 0 do
    local count = math.min(excess, CHUNK)
    local oldest = oldestOf(group.lists[mark], count)
    local ids = {}
    for at = 1, count do ids[at] = oldest[at].id end
    local pending = redis.call('HMGET', group.marks, unpack(ids))
    local gone = {}
    for at = 1, count do
      if pending[at] then
        excess = 0
        break
      end
      gone[at] = ids[at]
    end
    if #gone == 0 then return end
    local state, newest = group.state, oldest[#gone]
    noteLeft(group, newest.markedAt, clock)
    if state.kind ~= UNKNOWN then
      state.kind = TRUNCATED
      if state.floorId == '' or placeBefore(newest.markedAt, newest.id, state.floorAt, state.floorId) then
        state.floorAt, state.floorId = newest.markedAt, newest.id
      end
    end
    removeFromList(group, mark, unpack(gone))
    excess = excess - #gone
  end
end

local function trimMarks(group, cap, clock)
  trimList(group, LIKE, cap, clock)
  trimList(group, DISLIKE, cap, clock)
end

-- Idle viewers leave memory, and are unknown then. The expiry is extended once a day, not at each write. The lists outlive the
-- state by a day: a state that turns a miss into NONE must never exist without them.
local DAY = 86400000
local function expireLists(group, afterMs)
  for mark = LIKE, DISLIKE do
    if sizeOf(group, mark) > 0 then redis.call('PEXPIRE', group.lists[mark], whole(afterMs)) end
  end
end

-- True if the keys expire and their expiry was not yet extended today. The state then contains today's date, and the caller must store it.
-- If the script fails between this and `putOffExpiry`, only a write of another day sets the expiry; without one, the keys stay.
local function noteExpiry(group, now, expireMs)
  local today = math.max(0, math.floor(now / DAY))
  if expireMs == 0 or group.state.expiredOn == today then return false end
  group.state.expiredOn, group.begun = today, true
  return true
end

local function putOffExpiry(group, expireMs)
  if expireMs == 0 or not group.begun then return end
  redis.call('PEXPIRE', group.marks, whole(expireMs + DAY))
  expireLists(group, expireMs + 2 * DAY)
end

-- For scripts that do not put off the expiry. A list that they begin expires a day after the state, as all lists do.
local function expireBegun(group)
  local leftMs = group.begun and redis.call('PTTL', group.marks) or 0
  if leftMs > 0 then expireLists(group, leftMs + DAY) end
end

local function readClock(key)
  local last = tonumber(redis.call('GET', key) or '0')
  return { last = last, before = last }
end

local function storeClock(key, clock)
  if clock.last > clock.before then redis.call('SET', key, whole(clock.last)) end
end

-- A script may have several regions, whose keys come first, three per region. Each has its own clock. `place` is from 0.
local function openRegion(regions, place)
  local region = regions[place]
  if not region then
    local at = place * 3
    region = { version = KEYS[at + 1], dirty = KEYS[at + 2], undone = KEYS[at + 3] }
    region.clock = readClock(region.version)
    regions[place] = region
  end
  return region
end
