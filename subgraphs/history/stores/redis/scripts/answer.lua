-- answer: what a call said that may not be executed twice. Whoever gets no answer sends the call again, and by then somebody
-- may have written what a second execution would remove. Included by the scripts of such calls, which begin by asking.
local ANSWER_KEPT = 60000

local function answerGiven(key)
  local packed = redis.call('GET', key)
  return packed and cmsgpack.unpack(packed)
end

local function giveAnswer(key, answer)
  redis.call('SET', key, cmsgpack.pack(answer), 'PX', ANSWER_KEPT)
  return answer
end
