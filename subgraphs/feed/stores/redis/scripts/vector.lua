-- vector: packed ids, of 8 bytes each, ascending (subgraphs/feed/packed/vector.ts). Included by scripts that change lists.

-- The place of the id, from 1 in steps of 8. Nil if it is not there.
local function placeOf(vector, id)
  local at = string.find(vector, id, 1, true)
  while at and at % 8 ~= 1 do at = string.find(vector, id, at + 1, true) end
  return at
end

-- Lua's own comparison of strings depends on the locale of the server.
local function isBelow(a, b)
  local aHigh, aLow = struct.unpack('>I4I4', a)
  local bHigh, bLow = struct.unpack('>I4I4', b)
  return aHigh < bHigh or (aHigh == bHigh and aLow < bLow)
end

local function without(vector, at)
  return string.sub(vector, 1, at - 1) .. string.sub(vector, at + 8)
end

-- New ids are at or near the end.
local function with(vector, id)
  local at = #vector + 1
  while at > 1 and isBelow(id, string.sub(vector, at - 8, at - 1)) do at = at - 8 end
  return string.sub(vector, 1, at - 1) .. id .. string.sub(vector, at)
end

local function putVector(key, vector)
  if vector == '' then redis.call('DEL', key) else redis.call('SET', key, vector) end
end
