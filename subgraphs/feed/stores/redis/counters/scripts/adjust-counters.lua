#!lua
-- adjust-counters: applies events to the totals of subjects, each event once. Atomic per region and business.
-- KEYS[1] last version (string)  KEYS[2] dirty subjects (zset)  KEYS[3] their versions (hash)  KEYS[4] size (hash)
-- KEYS[5] overflow entries (hash)  KEYS[6..8] events of the last, this and the next period (sets)  KEYS[9..] blocks
-- ARGV[1] now (ms)  ARGV[2] ms to remember events  ARGV[3] number of blocks that the caller knows  ARGV[4] bytes of packed counters
-- ARGV[5] counters: bits from the start and width of each, ">HH"  ARGV[6] business, ">H"
-- ARGV[7] subjects: place of the block in KEYS, ">H", packed id
-- ARGV[8] events: place of the subject, ">H"; place of the counter, ">B"; delta, ">i4"; 8-byte hash
-- returns one letter per event, and the number of blocks:
--   c counted, r repeated, i invalid, b needs its base, m not found and the number of blocks is another, d damaged
-- include: entries
local entryBytes = tonumber(ARGV[4])
local FULL = 2 ^ 53 - 1

local counters = {}
for at = 1, #ARGV[5], 4 do
  local from, width = struct.unpack('>HH', ARGV[5], at)
  counters[#counters + 1] = { from = from, type = 'u' .. width, full = 2 ^ width - 1, number = #counters }
end

local subjects = {}
local at = 1
while at <= #ARGV[7] do
  local block = struct.unpack('>H', ARGV[7], at)
  local length = idLength(ARGV[7], at + 2)
  subjects[#subjects + 1] = { block = KEYS[9 + block], oid = string.sub(ARGV[7], at + 2, at + 1 + length) }
  at = at + 2 + length
end

-- Totals change in place, so entries stay where they are while the script runs.
local blocks = {}
local function placeOf(subject)
  if subject.place == nil then
    local block = blocks[subject.block] or redis.call('GET', subject.block) or ''
    blocks[subject.block] = block
    subject.place = findEntry(block, subject.oid, entryBytes) or false
  end
  return subject.place
end

-- The counter is full, or would leave its bits: its value is in the overflow entry of the subject, or moves there or back.
local function countWide(subject, counter, offset, old, delta)
  local function set(value)
    redis.call('BITFIELD', subject.block, 'SET', counter.type, offset, string.format('%.0f', value))
  end
  set(old)
  local overflow = redis.call('HGET', KEYS[5], subject.oid) or string.rep('\0', 8 * #counters)
  if #overflow ~= 8 * #counters then return 'd' end
  local from = 8 * counter.number
  local value = old == counter.full and struct.unpack('>I8', overflow, from + 1) or old
  if value < old then return 'd' end
  local total = value + delta
  if total < 0 or total > FULL then return 'i' end
  set(math.min(total, counter.full))
  local wide = total < counter.full and 0 or total
  overflow = string.sub(overflow, 1, from) .. struct.pack('>I8', wide) .. string.sub(overflow, from + 9)
  if string.find(overflow, '[^%z]') then
    redis.call('HSET', KEYS[5], subject.oid, overflow)
  else
    redis.call('HDEL', KEYS[5], subject.oid)
  end
  return 'c'
end

local function count(subject, counter, delta)
  local offset = 8 * (subject.place - 1) + counter.from
  local values = redis.call('BITFIELD', subject.block, 'OVERFLOW', 'FAIL', 'GET', counter.type, offset, 'INCRBY', counter.type, offset, delta)
  local old, new = values[1], values[2]
  if new and old ~= counter.full and new ~= counter.full then return 'c' end
  return countWide(subject, counter, offset, old, delta)
end

local events, hashes = {}, {}
at = 1
while at <= #ARGV[8] do
  local subject, counter, delta, hash = struct.unpack('>HBi4c8', ARGV[8], at)
  events[#events + 1] = { subject = subjects[subject + 1], counter = counters[counter + 1], delta = delta }
  hashes[#hashes + 1] = hash
  at = at + 15
end

local known = {}
for period = 6, 8 do
  for place, isKnown in ipairs(redis.call('SMISMEMBER', KEYS[period], unpack(hashes))) do
    if isKnown == 1 then known[hashes[place]] = true end
  end
end

local blockCount = redis.call('HGET', KEYS[4], 'blocks') or '1'
local absent = blockCount == ARGV[3] and 'b' or 'm'
local answers, new, changed = {}, {}, {}
for place, event in ipairs(events) do
  local hash = hashes[place]
  local answer
  if known[hash] then
    answer = 'r'
  elseif not placeOf(event.subject) then
    answer = absent
  else
    answer = count(event.subject, event.counter, event.delta)
    if answer == 'c' then
      known[hash] = true
      new[#new + 1] = hash
      changed[event.subject] = true
    end
  end
  answers[place] = answer
end

if #new > 0 then
  redis.call('SADD', KEYS[7], unpack(new))
  redis.call('PEXPIRE', KEYS[7], ARGV[2])
  local last = tonumber(redis.call('GET', KEYS[1]) or '0')
  local version = string.format('%.0f', math.max(last + 1, tonumber(ARGV[1]) * 1024))
  redis.call('SET', KEYS[1], version)
  local dirty, versions = {}, {}
  for subject in pairs(changed) do
    local member = subject.oid .. ARGV[6]
    dirty[#dirty + 1] = ARGV[1]
    dirty[#dirty + 1] = member
    versions[#versions + 1] = member
    versions[#versions + 1] = version
  end
  redis.call('ZADD', KEYS[2], 'NX', unpack(dirty))
  redis.call('HSET', KEYS[3], unpack(versions))
end
return { table.concat(answers), blockCount }
