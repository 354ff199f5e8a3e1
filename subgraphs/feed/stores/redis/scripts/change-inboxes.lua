#!lua
-- change-inboxes: adds an id to inboxes, or removes it from them. A removal is final. Changed inboxes forget old entries. Atomic.
-- KEYS[1] noted changes (zset)  KEYS[2..] per viewer: inbox (string), removed ids (zset)   all with the region's hash tag
-- ARGV[1] clock (ticks)  ARGV[2] id (8 bytes)  ARGV[3] add or remove
-- ARGV[4] posts and removals below this tick are old, if a purge has come as far  ARGV[5..] per viewer: cache key of the inbox
-- returns nothing
-- include: clock vector
local id, isRemoval = ARGV[2], ARGV[3] == 'remove'
local tick = nextTick(KEYS[1], tonumber(ARGV[1]), 0)
-- What is newer than all forgotten changes may not be persisted.
local oldTick = math.min(tonumber(ARGV[4]), tonumber(redis.call('ZSCORE', KEYS[1], '-') or '0'))
local oldId = idOf(oldTick, 0)
local notes = {}
local ALWAYS_COPIED = 4096

local function isIn(removedKey)
  return redis.call('EXISTS', removedKey) == 1 and redis.call('ZSCORE', removedKey, id)
end

-- A long inbox is copied only if an eighth of it is old. Then each addition pays for 8 ids. Returns the bytes that left at the beginning.
local function forgetOld(key)
  local first = redis.call('GETRANGE', key, 0, 7)
  if first == '' or not isBelow(first, oldId) then return 0 end
  local old, _, length = placeInKey(key, oldId)
  if length > ALWAYS_COPIED and old * 8 < length then return 0 end
  putVector(key, redis.call('GETRANGE', key, old, -1))
  return old
end

-- Changes only the end of the inbox. False if the id is there. The id itself may be old.
local function add(key)
  local at, isThere = placeInKey(key, id)
  if isThere then return false end
  at = math.max(0, at - forgetOld(key))
  local newer = redis.call('GETRANGE', key, at, -1)
  -- Only this command lets the string grow without a copy each time.
  redis.call('APPEND', key, id)
  if newer ~= '' then redis.call('SETRANGE', key, at, id .. newer) end
  return true
end

local function remove(key)
  forgetOld(key)
  local at, isThere, length = placeInKey(key, id)
  if isThere then
    local newer = redis.call('GETRANGE', key, at + 8, -1)
    putVector(key, (at > 0 and redis.call('GETRANGE', key, 0, at - 1) or '') .. newer)
  end
  return true
end

local change = isRemoval and remove or add

for viewer = 1, #ARGV - 4 do
  local inboxKey, removedKey = KEYS[viewer * 2], KEYS[viewer * 2 + 1]
  if not isIn(removedKey) and change(inboxKey) then
    redis.call('ZREMRANGEBYSCORE', removedKey, '-inf', '(' .. whole(oldTick))
    if isRemoval then redis.call('ZADD', removedKey, whole(tick), id) end
    notes[#notes + 1] = whole(tick)
    notes[#notes + 1] = ARGV[4 + viewer]
  end
end

if #notes > 0 then redis.call('ZADD', KEYS[1], whole(tick), CLOCK, unpack(notes)) end
