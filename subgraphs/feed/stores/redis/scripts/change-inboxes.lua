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

local function isIn(removedKey)
  return redis.call('EXISTS', removedKey) == 1 and redis.call('ZSCORE', removedKey, id)
end

-- Most ids are newer than those of the inbox, and no id of it is old: then the inbox is not read.
local function append(key)
  local last = redis.call('GETRANGE', key, -8, -1)
  if last ~= '' and not isBelow(last, id) then return false end
  local first = last ~= '' and redis.call('GETRANGE', key, 0, 7)
  if first and isBelow(first, oldId) then return false end
  redis.call('APPEND', key, id)
  return true
end

-- False if nothing changed.
local function change(key)
  if not isRemoval and append(key) then return true end
  local inbox = redis.call('GET', key) or ''
  local changed = isRemoval and without(inbox, { id }) or with(inbox, id)
  if changed == inbox and not isRemoval then return false end
  putVector(key, isRemoval and since(changed, oldId) or with(since(inbox, oldId), id))
  return true
end

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
