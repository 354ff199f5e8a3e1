#!lua
-- fill-counters: stores the totals of subjects that have none. Atomic per region and business.
-- KEYS[1] last version (string)  KEYS[2] size (hash)  KEYS[3] overflow entries (hash)  KEYS[4..] blocks
-- ARGV[1] number of blocks that the caller knows  ARGV[2] bytes of packed counters  ARGV[3] schema, as text
-- ARGV[4] the highest version of the totals  ARGV[5..] per subject: place of its block in KEYS, packed id, packed counters, overflow entry
-- returns {1, blocks, subjects}, or {0, blocks} if the number of blocks is another: nothing is stored
-- include: entries
local blockCount = redis.call('HGET', KEYS[2], 'blocks') or '1'
if blockCount ~= ARGV[1] then return { 0, blockCount } end
local blocks, changed, added = {}, {}, 0
for at = 5, #ARGV, 4 do
  local key, oid = KEYS[4 + ARGV[at]], ARGV[at + 1]
  local block = blocks[key] or redis.call('GET', key) or ''
  if not findEntry(block, oid, tonumber(ARGV[2])) then
    block = block .. oid .. ARGV[at + 2]
    added = added + 1
    changed[key] = true
    if ARGV[at + 3] ~= '' then redis.call('HSET', KEYS[3], oid, ARGV[at + 3]) end
  end
  blocks[key] = block
end
for key in pairs(changed) do redis.call('SET', key, blocks[key]) end
redis.call('HSETNX', KEYS[2], 'blocks', 1)
redis.call('HSETNX', KEYS[2], 'schema', ARGV[3])
if tonumber(redis.call('GET', KEYS[1]) or '0') < tonumber(ARGV[4]) then redis.call('SET', KEYS[1], ARGV[4]) end
return { 1, blockCount, redis.call('HINCRBY', KEYS[2], 'subjects', added) }
