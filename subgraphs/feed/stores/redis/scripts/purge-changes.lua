#!lua flags=allow-oom
-- purge-changes: forgets noted changes below a tick. The inbox and the filter words of a viewer leave with the noted change of their key,
-- unless the words are dirty. Atomic.
-- KEYS[1] noted changes (zset)  KEYS[2] dirty marks (zset)  KEYS[3..5] beginnings of the keys of inboxes, of ids removed from inboxes, and of
--         words   all with the region's hash tag
-- ARGV[1] ticks below this one are old  ARGV[2] changes to examine  ARGV[3] changes at the beginning that were examined, and stay
-- returns changes forgotten, changes at the beginning that stay, 1 if old changes may follow
-- include: clock
local WORDS, INBOX = '\255', 'i'
local count, stay = tonumber(ARGV[2]), tonumber(ARGV[3])
local found = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[1], 'WITHSCORES', 'LIMIT', stay, count)
local gone, newest = {}, nil

for at = 1, #found, 2 do
  local key, viewer = found[at], string.sub(found[at], 2)
  local isInbox = string.sub(key, 1, 1) == INBOX
  if key == CLOCK or key == FORGOTTEN or (isInbox and redis.call('ZSCORE', KEYS[2], WORDS .. viewer)) then
    stay = stay + 1
  else
    if isInbox then redis.call('DEL', KEYS[3] .. viewer, KEYS[4] .. viewer, KEYS[5] .. viewer) end
    gone[#gone + 1] = key
    newest = found[at + 1]
  end
end

if newest then
  redis.call('ZREM', KEYS[1], unpack(gone))
  -- The clock is above it. A reader that asks for less gets this member too.
  redis.call('ZADD', KEYS[1], 'GT', newest, FORGOTTEN)
end
return { #gone, stay, #found == count * 2 and 1 or 0 }
