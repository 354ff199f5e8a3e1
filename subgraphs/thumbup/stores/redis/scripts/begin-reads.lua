#!lua flags=no-writes
-- begin-reads: whether viewers' marks are unknown, and the clock of their regions.
-- KEYS[1..] per region: last version (string)
-- then per viewer and business: marks (hash)   all with the region's hash tag
-- ARGV[1] regions, more than one only on a single server
-- ARGV[2] per viewer and business: place of its region, from 0 (2 bytes)
-- returns per viewer and business: 1 if its marks are unknown (1 byte), the clock (7)
-- include: mark
local regions = tonumber(ARGV[1])
local clocks = {}
for at = 1, regions do clocks[at] = readClock(KEYS[at]).last end

local replies = {}
for at = 1, #KEYS - regions do
  local state = unpackState(redis.call('HGET', KEYS[regions + at], ''))
  local place = struct.unpack('>H', ARGV[2], 2 * at - 1)
  replies[at] = struct.pack('>BI7', state.kind == UNKNOWN and 1 or 0, clocks[place + 1])
end
return replies
