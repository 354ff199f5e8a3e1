-- vector: packed ids, of 8 bytes each, ascending (subgraphs/feed/packed/vector.ts). Included by scripts that change lists.

-- Lua's own comparison of strings depends on the locale of the server.
local function isBelow(a, b)
  local aHigh, aLow = struct.unpack('>I4I4', a)
  local bHigh, bLow = struct.unpack('>I4I4', b)
  return aHigh < bHigh or (aHigh == bHigh and aLow < bLow)
end

-- The place of the first id that is not below this one, from 1 in steps of 8, and whether it is this one.
local function placeOf(vector, id)
  local low, high = 0, #vector / 8
  while low < high do
    local middle = math.floor((low + high) / 2)
    if isBelow(string.sub(vector, middle * 8 + 1, middle * 8 + 8), id) then low = middle + 1 else high = middle end
  end
  local at = low * 8 + 1
  return at, string.sub(vector, at, at + 7) == id
end

-- The same for the vector of a key, without reading all of it: the offset from 0, whether the id is there, and the length.
local function placeInKey(key, id)
  local length = redis.call('STRLEN', key)
  local low, high = 0, length / 8
  -- Most ids are new.
  local probe = high - 1
  while low < high do
    local found = redis.call('GETRANGE', key, probe * 8, probe * 8 + 7)
    if found == id then return probe * 8, true, length end
    if isBelow(found, id) then low = probe + 1 else high = probe end
    probe = math.floor((low + high) / 2)
  end
  return low * 8, false, length
end

local function without(vector, ids)
  local places = {}
  for _, id in ipairs(ids) do
    local at, isThere = placeOf(vector, id)
    if isThere then places[#places + 1] = at end
  end
  table.sort(places)
  local pieces, from = {}, 1
  for _, at in ipairs(places) do
    pieces[#pieces + 1] = string.sub(vector, from, at - 1)
    from = at + 8
  end
  return table.concat(pieces) .. string.sub(vector, from)
end

local function putVector(key, vector)
  if vector == '' then redis.call('DEL', key) else redis.call('SET', key, vector) end
end
