#!lua flags=allow-oom
-- purge-posts: forgets clean posts below a version, with their client keys and places in outboxes. Atomic.
-- KEYS[1] held posts (list: id, version of each change, in order)  KEYS[2] dirty marks (zset)  KEYS[3..6] beginnings of the keys of posts,
--         of client keys, of outboxes, and of ids removed from outboxes   all with the region's hash tag
-- ARGV[1] versions below this one are old  ARGV[2] changes to examine  ARGV[3] changes at the beginning that were examined, and stay
-- returns posts forgotten, changes at the beginning that stay, 1 if old changes may follow
-- include: clock vector
local old, count, passed = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
-- By author: ids that leave the outbox.
local unlisted = {}

local function forget(id, author, clientKey)
  redis.call('DEL', postKey(KEYS[3], id))
  local known = redis.call('HGET', KEYS[4] .. author, clientKey)
  if known and string.sub(known, 1, 8) == id then redis.call('HDEL', KEYS[4] .. author, clientKey) end
  unlisted[author] = unlisted[author] or {}
  table.insert(unlisted[author], id)
  redis.call('ZREM', KEYS[6] .. author, id)
end

local entries = redis.call('LRANGE', KEYS[1], 0, passed + count - 1)
local kept, gone, last = {}, 0, #entries
for at = 1, math.min(passed, #entries) do kept[at] = entries[at] end
for at = passed + 1, #entries do
  local id, version = struct.unpack('<c8d', entries[at])
  if version >= old then
    last = at - 1
    break
  end
  local post = redis.call('GET', postKey(KEYS[3], id))
  -- A later change of the post has an entry of its own.
  if post and versionOf(post) == version then
    -- A message begins with author and client key, each of at most 64 bytes: after its tag (1 byte) and its length (1).
    local author = string.sub(post, 4, 3 + string.byte(post, 3))
    local keyAt = 4 + #author + 2
    if redis.call('ZSCORE', KEYS[2], id .. author) then
      kept[#kept + 1] = entries[at]
    else
      forget(id, author, string.sub(post, keyAt, keyAt - 1 + string.byte(post, keyAt - 1)))
      gone = gone + 1
    end
  end
end

for author, ids in pairs(unlisted) do
  local outbox = redis.call('GET', KEYS[5] .. author)
  if outbox then putVector(KEYS[5] .. author, without(outbox, ids)) end
end
if #kept < last then
  redis.call('LTRIM', KEYS[1], last, -1)
  for at = #kept, 1, -1 do redis.call('LPUSH', KEYS[1], kept[at]) end
end
return { gone, #kept, last == passed + count and 1 or 0 }
