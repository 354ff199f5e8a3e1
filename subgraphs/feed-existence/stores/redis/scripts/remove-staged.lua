#!lua flags=allow-oom
-- remove-staged: removes folded plays whose time is still that of the fold, and removes viewers with nothing left in the slot
-- from its ring. A viewer who loses a play gets a higher `folds`. Atomic per region.
-- KEYS in turn, per viewer: staged (zset), the viewer's part of the slot's ring by each known layout (sets)
-- ARGV[1] slot  ARGV[2] number of layouts  ARGV[3] ms for which `folds` is kept when nothing is staged
-- ARGV[4..] in turn, per viewer: viewer, their plays (see staged.lua)
-- include: staged
local slot, layouts = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = millisNow()

local function remove(staged, packed)
  local removed = 0
  eachLot(packed, slot, function(members, scores)
    local held = redis.call('ZMSCORE', staged, unpack(members))
    local going = {}
    for each = 1, #members do
      if tonumber(held[each] or nil) == scores[each] then going[#going + 1] = members[each] end
    end
    if #going > 0 then removed = removed + redis.call('ZREM', staged, unpack(going)) end
  end)
  return removed
end

local argument = 4
for at = 1, #KEYS, layouts + 1 do
  local staged = KEYS[at]
  local folds = -(tonumber(redis.call('ZSCORE', staged, '') or nil) or 0)
  if remove(staged, ARGV[argument + 1]) > 0 then
    -- A time, so that no value repeats after an expiry.
    redis.call('ZADD', staged, whole(-math.max(folds + 1, now)), '')
    if redis.call('ZCARD', staged) == 1 then redis.call('PEXPIRE', staged, ARGV[3]) end
  end
  if countStaged(staged, slot) == 0 then
    for ring = at + 1, at + layouts do redis.call('SREM', KEYS[ring], ARGV[argument]) end
  end
  argument = argument + 2
end
return 0
