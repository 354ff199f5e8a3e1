#!lua flags=allow-oom
-- remove-staged: removes plays that were folded, where they still have the time they were folded with; and viewers from the slot's
-- ring who have nothing left in it. Whoever something is taken from gets a higher `folds`. Atomic per region.
-- KEYS in turn, per viewer: staged (zset), his part of the slot's ring by each layout that is known (sets)
-- ARGV[1] slot  ARGV[2] how many layouts  ARGV[3] ms for which `folds` is kept when nothing is staged
-- ARGV[4..] in turn, per viewer: viewer, his plays (see staged.lua)
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
    -- A time, so that it is never one that was given before it expired.
    redis.call('ZADD', staged, whole(-math.max(folds + 1, now)), '')
    if redis.call('ZCARD', staged) == 1 then redis.call('PEXPIRE', staged, ARGV[3]) end
  end
  if countStaged(staged, slot) == 0 then
    for ring = at + 1, at + layouts do redis.call('SREM', KEYS[ring], ARGV[argument]) end
  end
  argument = argument + 2
end
return 0
