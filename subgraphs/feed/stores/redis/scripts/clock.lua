-- clock: the region's clock, which is a member of its noted changes, and what depends on ticks. Included by scripts that change data. Lua
-- numbers are doubles: ticks stay below 2^49, and a post id, which has 63 bits, is made of two halves of 32.
local CLOCK, FORGOTTEN = '+', '-'

local function whole(number)
  return string.format('%.0f', number)
end

-- The first tick of a moment, ms since 1970 (packed/post-id.ts).
local function tickAt(ms)
  return (ms - 1577836800000) * 256
end

-- The region's next tick: above the last one, not behind the clock, and above a version from before the store was lost.
-- Without a clock, all earlier changes are forgotten: the region is new, or the store was lost.
local function nextTick(changes, clock, above)
  local last = redis.call('ZSCORE', changes, CLOCK)
  local tick = math.max(tonumber(last or '0') + 1, clock, above + 1)
  if not last then redis.call('ZADD', changes, 'GT', whole(tick), CLOCK, whole(tick), FORGOTTEN) end
  return tick
end

-- The first tick from this one on that a post may have: even for a public post, odd for a restricted one.
local function postTick(tick, isRestricted)
  return (tick % 2 == 1) == isRestricted and tick or tick + 1
end

-- tick * 2^14 + region
local function idOf(tick, region)
  return struct.pack('>I4I4', math.floor(tick / 2 ^ 18), (tick % 2 ^ 18) * 2 ^ 14 + region)
end

-- The key of a post ends in the digits of its id.
local function postKey(root, id)
  return root .. string.format('%08x%08x', struct.unpack('>I4I4', id))
end

-- Messages end in their version (subgraphs/feed/model/post-codec.ts): field 15, a little-endian double.
local function versioned(message, version)
  return message .. string.char(0x79) .. struct.pack('<d', version)
end

local function versionOf(message)
  return (struct.unpack('<d', message, #message - 7))
end
