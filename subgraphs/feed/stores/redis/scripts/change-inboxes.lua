#!lua
-- change-inboxes: adds an id to inboxes, or removes it from them. A removal is final. Changed inboxes forget old entries. Atomic.
-- KEYS[1] noted changes (zset)  KEYS[2..] per viewer: inbox (string), removed ids (zset)   all with the region's hash tag
-- ARGV[1] clock (ticks)  ARGV[2] id (8 bytes)  ARGV[3] add or remove  ARGV[4] ids below this one (8 bytes) are old
-- ARGV[5] removals below this tick are old  ARGV[6..] per viewer: cache key of the inbox
-- returns nothing
-- include: clock vector
local id, isRemoval, oldId = ARGV[2], ARGV[3] == 'remove', ARGV[4]
local tick = nextTick(KEYS[1], tonumber(ARGV[1]), 0)
local notes = {}

for viewer = 1, #ARGV - 5 do
  local inboxKey, removedKey = KEYS[viewer * 2], KEYS[viewer * 2 + 1]
  local removed = redis.call('EXISTS', removedKey) == 1
  if not (removed and redis.call('ZSCORE', removedKey, id)) then
    local inbox = redis.call('GET', inboxKey) or ''
    local at = placeOf(inbox, id)
    if isRemoval or not at then
      local before = inbox
      if at then inbox = without(inbox, at) end
      local first = 1
      while first < #inbox and isBelow(string.sub(inbox, first, first + 7), oldId) do first = first + 8 end
      if first > 1 then inbox = string.sub(inbox, first) end
      if removed then redis.call('ZREMRANGEBYSCORE', removedKey, '-inf', '(' .. ARGV[5]) end
      if isRemoval then redis.call('ZADD', removedKey, whole(tick), id) else inbox = with(inbox, id) end
      if inbox ~= before then putVector(inboxKey, inbox) end
      notes[#notes + 1] = whole(tick)
      notes[#notes + 1] = ARGV[5 + viewer]
    end
  end
end

if #notes > 0 then redis.call('ZADD', KEYS[1], whole(tick), CLOCK, unpack(notes)) end
