#!lua flags=no-writes
-- list-changes: changes in businesses of a viewer after a version: visible records and tombstones.
-- KEYS[1..] per business: contents (hash)   all with the region's hash tag
-- ARGV[1] version
-- returns per business oids and records in turn
-- include: record
local since = tonumber(ARGV[1])
local pages = {}
for at = 1, #KEYS do
  local fields = redis.call('HGETALL', KEYS[at])
  local page, clearedAt = {}, 0
  for place = 1, #fields, 2 do
    if fields[place] == '' then clearedAt = unpackState(fields[place + 1]).clearedAt end
  end
  for place = 1, #fields, 2 do
    if fields[place] ~= '' then
      local record = unpackRecord(fields[place + 1])
      if record.version > since and (record.deleted or record.viewedAt > clearedAt) then
        page[#page + 1] = fields[place]
        page[#page + 1] = fields[place + 1]
      end
    end
  end
  pages[at] = page
end
return pages
