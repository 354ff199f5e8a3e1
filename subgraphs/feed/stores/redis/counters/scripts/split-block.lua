#!lua
-- split-block: adds a block and moves these entries of another block to it. Atomic.
-- KEYS[1] size (hash)  KEYS[2] block that is split  KEYS[3] new block
-- ARGV[1] number of blocks that the caller knows  ARGV[2] bytes of packed counters  ARGV[3] entries that the caller has seen in the block
-- ARGV[4..] packed ids to move
-- returns 1, or 0 if the block or the number of blocks has changed: nothing is moved
-- include: entries
if (redis.call('HGET', KEYS[1], 'blocks') or '1') ~= ARGV[1] then return 0 end
local block = redis.call('GET', KEYS[2]) or ''
local moves = {}
for at = 4, #ARGV do moves[ARGV[at]] = true end
local stay, go = {}, {}
local at = 1
while at <= #block do
  local length = idLength(block, at)
  local entry = string.sub(block, at, at + length + ARGV[2] - 1)
  local side = moves[string.sub(entry, 1, length)] and go or stay
  side[#side + 1] = entry
  at = at + #entry
end
if #stay + #go ~= tonumber(ARGV[3]) then return 0 end
if #stay > 0 then redis.call('SET', KEYS[2], table.concat(stay)) else redis.call('DEL', KEYS[2]) end
if #go > 0 then redis.call('SET', KEYS[3], table.concat(go)) end
redis.call('HINCRBY', KEYS[1], 'blocks', 1)
return 1
