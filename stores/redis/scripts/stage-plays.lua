#!lua
-- stage-plays: stages plays in a slot unless later ones of their subjects are, and puts their viewers into the ring. Atomic per region.
-- KEYS in turn, per viewer: staged (zset), his part of the slot's ring (set)   all with the region's hash tag
-- ARGV[1] slot  ARGV[2..] in turn, per viewer: viewer, his plays (see staged.lua)
-- returns per viewer how much he has staged in this slot
-- include: staged
local slot = tonumber(ARGV[1])
local counts = {}
for at = 1, #KEYS, 2 do
  local staged = KEYS[at]
  eachLot(ARGV[at + 2], slot, function(members, scores)
    local entries = {}
    for each = 1, #members do
      entries[2 * each - 1] = whole(scores[each])
      entries[2 * each] = members[each]
    end
    redis.call('ZADD', staged, 'GT', unpack(entries))
  end)
  -- It expires only while nothing is staged.
  redis.call('PERSIST', staged)
  redis.call('SADD', KEYS[at + 1], ARGV[at + 1])
  counts[#counts + 1] = countStaged(staged, slot)
end
return counts
