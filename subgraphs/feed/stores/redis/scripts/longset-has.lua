#!lua flags=no-writes
-- longset-has: whether a longset has each of some ids. It reads the header and the slots of each id's search, never the whole set.
-- packed/longset.ts describes the layout.
-- KEYS[1] the longset (string)
-- ARGV[1] per id 16 bytes: the content of its slot, and its hashes `start` and `step` (unsigned, 32 bits, big endian)
-- returns one character per id, 1 or 0; nothing without a set
local head = redis.call('GETRANGE', KEYS[1], 0, 15)
if #head < 16 then return false end
local probes = string.byte(head, 2) * 65536 + string.byte(head, 3) * 256 + string.byte(head, 4)
local slots = struct.unpack('>I4', head, 5)
local EMPTY = string.rep('\255', 8)
local found = {}
for at = 1, #ARGV[1], 16 do
  local wanted = string.sub(ARGV[1], at, at + 7)
  local start, step = struct.unpack('>I4I4', ARGV[1], at + 8)
  local answer = '0'
  for probe = 0, probes - 1 do
    local offset = 16 + 8 * ((start + probe * (1 + step % (slots - 1))) % slots)
    local slot = redis.call('GETRANGE', KEYS[1], offset, offset + 7)
    if slot == wanted then answer = '1' end
    if slot == wanted or slot == EMPTY then break end
  end
  found[#found + 1] = answer
end
return table.concat(found)
