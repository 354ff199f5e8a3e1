-- entries: the entries of a block, as in blocks.ts: packed id, then the packed counters.

-- The length of the packed id at this place: 8 bytes for an integer, else the first byte is 0x80 + length.
local function idLength(text, at)
  local first = string.byte(text, at)
  return first < 128 and 8 or first - 127
end

-- The place of a subject's counters in a block, or nil. The bytes of an id may also occur elsewhere, so the place of a match is
-- checked by a walk over the entries before it.
local function findEntry(block, oid, entryBytes)
  local at = 1
  local found = string.find(block, oid, 1, true)
  while found do
    while at < found do at = at + idLength(block, at) + entryBytes end
    if at == found then return found + #oid end
    found = string.find(block, oid, at, true)
  end
end
