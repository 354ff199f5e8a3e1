#!lua flags=no-writes
-- list-timeline: one page per business of a viewer, newest first, strictly after a place.
-- KEYS[1..] per business: timeline (zset), contents (hash)   all with the region's hash tag
-- ARGV[1] limit  ARGV[2] viewedAt to begin after; '' from the newest  ARGV[3] packed oid to begin after
-- ARGV[4..] per business: of the entries at that very moment, all (-1), those up to the oid (0) or none (1) were listed
-- returns per business its state, then oids and records in turn
-- include: record timeline
local limit, viewedAt, after = tonumber(ARGV[1]), ARGV[2], ARGV[3]

-- The rank of the first entry behind the place. Entries of one moment are in byte order. The binary search also works for an
-- oid that is no longer there.
local function rankBehind(timeline, place)
  local first = redis.call('ZCOUNT', timeline, '-inf', '(-' .. viewedAt)
  if place > 0 then return first end
  local last = first + redis.call('ZCOUNT', timeline, '-' .. viewedAt, '-' .. viewedAt)
  if place < 0 then return last end
  while first < last do
    local middle = math.floor((first + last) / 2)
    local oid = redis.call('ZRANGE', timeline, middle, middle)[1]
    if oid == after or bytesBefore(oid, after) then first = middle + 1 else last = middle end
  end
  return first
end

local pages = {}
for at = 1, #KEYS, 2 do
  local timeline, contents = KEYS[at], KEYS[at + 1]
  local page = { redis.call('HGET', contents, '') or '' }
  -- Most viewers have nothing in most businesses. A second look at one key is cheaper than a look at another key, which is rarely in the
  -- CPU caches.
  if page[1] ~= '' or redis.call('EXISTS', contents) == 1 then
    local first = viewedAt == '' and 0 or rankBehind(timeline, tonumber(ARGV[4 + (at - 1) / 2]))
    local oids = redis.call('ZRANGE', timeline, first, first + limit - 1)
    for from = 1, #oids, 1000 do
      local values = redis.call('HMGET', contents, unpack(oids, from, math.min(from + 999, #oids)))
      for i = 1, #values do
        page[#page + 1] = oids[from + i - 1]
        page[#page + 1] = values[i] or ''
      end
    end
  end
  pages[#pages + 1] = page
end
return pages
