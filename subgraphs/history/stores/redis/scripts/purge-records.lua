#!lua flags=allow-oom
-- purge-records: removes clean records of one viewer and business that were last written before a moment.
-- KEYS[1] dirty marks (zset)  KEYS[2] tombstones (zset)  KEYS[3] contents (hash)  KEYS[4] timeline (zset)
-- ARGV[1] written before (ms)  ARGV[2] limit  ARGV[3] packed viewer + business
-- ARGV[4..] the oids to examine: tombstones' index entries, dropped if they name no tombstone; none = the whole hash
-- returns the number of removed records, and of removed index entries
-- include: record
local writtenBefore, limit, prefix = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local gone, dropped = 0, 0

local function purge(oid, value)
  local record = unpackRecord(value)
  if math.floor(record.version / 1024) >= writtenBefore or redis.call('ZSCORE', KEYS[1], prefix .. oid) then return end
  redis.call('HDEL', KEYS[3], oid)
  redis.call('ZREM', KEYS[4], oid)
  if record.deleted then dropped = dropped + redis.call('ZREM', KEYS[2], prefix .. oid) end
  gone = gone + 1
end

if #ARGV > 3 then
  for at = 4, #ARGV do
    local value = redis.call('HGET', KEYS[3], ARGV[at])
    if not value or not unpackRecord(value).deleted then
      dropped = dropped + redis.call('ZREM', KEYS[2], prefix .. ARGV[at])
    elseif gone < limit then
      purge(ARGV[at], value)
    end
  end
  return { gone, dropped }
end

local fields = redis.call('HGETALL', KEYS[3])
for at = 1, #fields, 2 do
  if gone >= limit then break end
  if fields[at] ~= '' then purge(fields[at], fields[at + 1]) end
end
return { gone, dropped }
