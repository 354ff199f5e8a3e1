-- changes: the messages to followers of a viewer that are about no record and no clearing. Included by the scripts that send them;
-- subgraphs/history/stores/redis/following.ts reads them. They have the form of a clearing of business 0, with more behind it:
-- versions of Tidemark that do not know them drop changes of a business that is not configured.

-- The switch: value 1 is paused.
local function pausedChange(paused, version)
  return 'c' .. struct.pack('>HI6I7', 0, paused, version) .. 's'
end

-- A first view of a day, claimed in a business, or in all (0).
local function dayChange(business, day, version)
  return 'c' .. struct.pack('>HI6I7', 0, day, version) .. 'f' .. struct.pack('>H', business)
end
