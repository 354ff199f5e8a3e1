#!lua
-- put-longset: stores a longset unless its lease has ended.
-- KEYS[1] the longset (string)  KEYS[2] its lease (string)   both with the region's hash tag
-- ARGV[1] the lease of the builder  ARGV[2] the longset  ARGV[3] its time to live (ms)
-- returns 1 if it is stored
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
