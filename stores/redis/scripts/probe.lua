#!lua
-- probe: does nothing, and is refused whenever a put of this region would be: by a server that takes no writes (READONLY,
-- NOREPLICAS, MISCONF, OOM are said before a script without the flag no-writes begins), and while the slot is on its way
-- to another node (TRYAGAIN, wherever some of the keys are missing, and one is always).
-- KEYS[1] last version (string)  KEYS[2] a key that never is   both with the region's hash tag
return 1
