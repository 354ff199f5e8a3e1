-- staged: helpers for the scripts that change staged plays, which include them. subgraphs/feed-existence/stores/redis/keys.ts
-- describes the layout. Scores are whole numbers below 2^53.
local MOMENTS = 2 ^ 44
local LOT = 1000

local function whole(number)
  return string.format('%.0f', number)
end

-- Calls `take` with members and scores of the plays, in lots: a command takes at most a few thousand arguments from a script.
-- `packed` is per play: playedAt (6 bytes), the member after its length (1).
local function eachLot(packed, slot, take)
  local members, scores, at = {}, {}, 1
  while at <= #packed do
    local playedAt, member
    playedAt, member, at = struct.unpack('>I6Bc0', packed, at)
    members[#members + 1] = member
    scores[#scores + 1] = slot * MOMENTS + playedAt
    if #members == LOT or at > #packed then
      take(members, scores)
      members, scores = {}, {}
    end
  end
end

local function millisNow()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function countStaged(staged, slot)
  return redis.call('ZCOUNT', staged, whole(slot * MOMENTS), '(' .. whole((slot + 1) * MOMENTS))
end
