-- answer: keeps the answers of calls that must not be executed twice. A caller without an answer sends the call again, and a
-- second execution might remove later writes. The scripts of such calls include this one, and begin with `answerGiven`.
local ANSWER_KEPT = 60000

local function answerGiven(key)
  local packed = redis.call('GET', key)
  return packed and cmsgpack.unpack(packed)
end

local function giveAnswer(key, answer)
  redis.call('SET', key, cmsgpack.pack(answer), 'PX', ANSWER_KEPT)
  return answer
end
