-- record: the packing of a stored record and of a timeline's state, and the merge rule. Included by the scripts that change
-- contents. subgraphs/history/stores/redis/values.ts describes the bytes; subgraphs/history/model/merge.ts is the rule. Lua
-- numbers are doubles: all values stay below 2^53.
local DELETED, SINCE, RANKED = 1, 2, 4
local REAL = 4398046511104

local function whole(number)
  return string.format('%.0f', number)
end

local function unpackRecord(value)
  local flags, viewedAt, version, at = struct.unpack('>BI6I7', value)
  if flags == DELETED then
    return { viewedAt = viewedAt, since = viewedAt, rank = 0, version = version, deleted = true, resume = '' }
  end
  local since, rank = 0, REAL + viewedAt
  if flags % 4 >= SINCE then since, at = struct.unpack('>I6', value, at) end
  if flags >= RANKED then rank, at = struct.unpack('>I7', value, at) end
  return { viewedAt = viewedAt, since = since, rank = rank, version = version, deleted = false, resume = string.sub(value, at) }
end

local function packRecord(record)
  if record.deleted then return struct.pack('>BI6I7', DELETED, record.viewedAt, record.version) end
  local since, rank, flags = '', '', 0
  if record.since > 0 then
    flags = SINCE
    since = struct.pack('>I6', record.since)
  end
  if record.rank ~= REAL + record.viewedAt then
    flags = flags + RANKED
    rank = struct.pack('>I7', record.rank)
  end
  return struct.pack('>BI6I7', flags, record.viewedAt, record.version) .. since .. rank .. record.resume
end

-- Returns one of the two tables if it wins completely, so that callers can detect "nothing changed".
local function merge(stored, incoming)
  if not stored or stored.viewedAt <= incoming.since then return incoming end
  if incoming.viewedAt <= stored.since then return stored end
  local resume = stored
  if incoming.rank > stored.rank or (incoming.rank == stored.rank and incoming.version >= stored.version) then resume = incoming end
  if resume == stored and incoming.viewedAt <= stored.viewedAt and incoming.since <= stored.since then return stored end
  return {
    viewedAt = math.max(stored.viewedAt, incoming.viewedAt),
    since = math.max(stored.since, incoming.since),
    rank = resume.rank,
    version = math.max(stored.version, incoming.version),
    deleted = false,
    resume = resume.resume,
  }
end

-- floorOid is '' if nothing was ever trimmed. trimmedAt: the region's last version at the last trimming, so that no trimmed
-- version is above it. expiredOn: the day on which the expiry of the keys was last renewed.
local function unpackState(value)
  if not value then return { clearedAt = 0, floorAt = 0, day = 0, expiredOn = 0, trimmedAt = 0, floorOid = '' } end
  local clearedAt, floorAt, day, expiredOn, at = struct.unpack('>I6I6I4I4', value)
  local state = { clearedAt = clearedAt, floorAt = floorAt, day = day, expiredOn = expiredOn, trimmedAt = 0, floorOid = '' }
  if at <= #value then
    state.trimmedAt, at = struct.unpack('>I7', value, at)
    state.floorOid = string.sub(value, at)
  end
  return state
end

local function packState(state)
  local packed = struct.pack('>I6I6I4I4', state.clearedAt, state.floorAt, state.day, state.expiredOn)
  if state.floorOid == '' then return packed end
  return packed .. struct.pack('>I7', state.trimmedAt) .. state.floorOid
end
