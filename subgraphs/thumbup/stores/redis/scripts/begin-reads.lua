#!lua flags=no-writes
-- begin-reads: whether viewers' marks are unknown, and the clock of their regions.
-- KEYS[1..] per region: last version (string)
-- then per viewer and business, region by region: marks (hash)   all with the region's hash tag
-- ARGV[1..] per region: its number of viewers and businesses. Several regions only on a single server
-- returns per viewer and business: 1 if its marks are unknown (1 byte), the clock (7)
-- include: mark
local replies = {}
local key = #ARGV
for at = 1, #ARGV do
  local last = readClock(KEYS[at]).last
  for _ = 1, tonumber(ARGV[at]) do
    key = key + 1
    local state = unpackState(redis.call('HGET', KEYS[key], ''))
    replies[#replies + 1] = struct.pack('>BI7', state.kind == UNKNOWN and 1 or 0, last)
  end
end
return replies
