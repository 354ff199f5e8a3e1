#!lua flags=allow-oom
-- remove-counter: removes a subject whose totals are all 0, with its dirty mark, or only looks for it. Atomic per region and business.
-- KEYS[1] size (hash)  KEYS[2] overflow entries (hash)  KEYS[3] dirty subjects (zset)  KEYS[4] their versions (hash)  KEYS[5] its block
-- ARGV[1] number of blocks that the caller knows  ARGV[2] bytes of packed counters  ARGV[3] packed id  ARGV[4] packed id + business
-- ARGV[5] 1: remove, 0: look
-- returns the number of removed or found entries, or -1 if the number of blocks is another
-- include: entries
if (redis.call('HGET', KEYS[1], 'blocks') or '1') ~= ARGV[1] then return -1 end
local bytes, oid, isRemoval = tonumber(ARGV[2]), ARGV[3], ARGV[5] == '1'
local block = redis.call('GET', KEYS[5]) or ''
local at = findEntry(block, oid, bytes)
local isDirty = redis.call('HEXISTS', KEYS[4], ARGV[4])
if not at then
  if isRemoval and isDirty == 1 then
    redis.call('ZREM', KEYS[3], ARGV[4])
    redis.call('HDEL', KEYS[4], ARGV[4])
  end
  return isDirty
end
if not isRemoval then return 1 + isDirty end
if string.sub(block, at, at + bytes - 1) ~= string.rep('\0', bytes) or redis.call('HEXISTS', KEYS[2], oid) == 1 then return 0 end
local rest = string.sub(block, 1, at - #oid - 1) .. string.sub(block, at + bytes)
if rest == '' then redis.call('DEL', KEYS[5]) else redis.call('SET', KEYS[5], rest) end
redis.call('HINCRBY', KEYS[1], 'subjects', -1)
redis.call('ZREM', KEYS[3], ARGV[4])
redis.call('HDEL', KEYS[4], ARGV[4])
return 1 + isDirty
