-- timeline: trimming and expiry of one viewer's timeline in one business. Included by the scripts that change timelines.
-- A group is { prefix = packed viewer + business, contents = key, timeline = key, state = table, changed = boolean };
-- the caller stores the state if `changed`.

-- Byte order of two packed oids. Not `<`: Lua compares strings by the server's locale.
local function bytesBefore(a, b)
  for at = 1, math.min(#a, #b) do
    local x, y = string.byte(a, at), string.byte(b, at)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- Removes clean entries from the oldest end, up to the first dirty one: an unpersisted entry is nowhere else.
-- `lastVersion` is the region's.
local function trim(group, dirtyKey, cap, lastVersion)
  local excess = redis.call('ZCARD', group.timeline) - cap
  while excess > 0 do
    local oldest = redis.call('ZREVRANGE', group.timeline, 0, math.min(excess, 100) - 1)
    local gone = {}
    for at = 1, #oldest do
      if redis.call('ZSCORE', dirtyKey, group.prefix .. oldest[at]) then
        excess = 0
        break
      end
      gone[at] = oldest[at]
    end
    if #gone == 0 then return end
    local newest = gone[#gone]
    local viewedAt = -tonumber(redis.call('ZSCORE', group.timeline, newest))
    local state = group.state
    if state.floorOid == '' or viewedAt > state.floorAt or (viewedAt == state.floorAt and bytesBefore(newest, state.floorOid)) then
      state.floorAt = viewedAt
      state.floorOid = newest
    end
    state.trimmedAt = lastVersion
    group.changed = true
    redis.call('ZREM', group.timeline, unpack(gone))
    redis.call('HDEL', group.contents, unpack(gone))
    excess = excess - #gone
  end
end

-- Opens a timeline for writing. Contents expire and settings do not, so a later clearing in the settings replaces that of the state.
local function openTimeline(prefix, contents, timeline, clearedAt)
  local group = { prefix = prefix, contents = contents, timeline = timeline, changed = false }
  group.state = unpackState(redis.call('HGET', contents, ''))
  if clearedAt > group.state.clearedAt then
    group.state.clearedAt = clearedAt
    group.changed = true
  end
  return group
end

-- Removes the entries up to a watermark: clean contents at once, dirty ones when they are persisted. Tombstones stay.
local function removeUntil(group, dirtyKey, clearedAt)
  while true do
    local oids = redis.call('ZRANGEBYSCORE', group.timeline, whole(-clearedAt), '+inf', 'LIMIT', 0, 500)
    if #oids == 0 then break end
    local marks = {}
    for at = 1, #oids do marks[at] = group.prefix .. oids[at] end
    local dirtySince = redis.call('ZMSCORE', dirtyKey, unpack(marks))
    local clean = {}
    for at = 1, #oids do
      if not dirtySince[at] then clean[#clean + 1] = oids[at] end
    end
    if #clean > 0 then redis.call('HDEL', group.contents, unpack(clean)) end
    redis.call('ZREM', group.timeline, unpack(oids))
  end
  group.state.clearedAt = clearedAt
  group.changed = true
end

-- Renews the expiry of idle viewers' keys, once a day instead of at each write: each call adds a line to the append-only file. `renewed`: a
-- key may be new and have no expiry. If `expireMs` is 0, the function removes the expiry that an earlier configuration set.
local DAY = 86400000
local function putOffExpiry(group, now, expireMs, renewed)
  local today = expireMs > 0 and math.max(0, math.floor(now / DAY)) or 0
  if group.state.expiredOn == today and (expireMs == 0 or not renewed) then return end
  group.state.expiredOn = today
  redis.call('HSET', group.contents, '', packState(group.state))
  group.changed = false
  for _, key in ipairs({ group.contents, group.timeline }) do
    if expireMs == 0 then
      redis.call('PERSIST', key)
    else
      redis.call('PEXPIRE', key, whole(expireMs + DAY))
    end
  end
end

local function storeState(group)
  if group.changed then redis.call('HSET', group.contents, '', packState(group.state)) end
end
