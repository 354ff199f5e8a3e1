#!lua
-- probe: does nothing, and is refused whenever a put of this region would be: by a server that refuses writes (it answers
-- READONLY, NOREPLICAS, MISCONF or OOM before a script without the flag no-writes begins), and while the slot is moving to
-- another node (TRYAGAIN if some of the keys are missing, and one always is).
-- KEYS[1] last version (string)  KEYS[2] a key that never exists   both with the region's hash tag
return 1
