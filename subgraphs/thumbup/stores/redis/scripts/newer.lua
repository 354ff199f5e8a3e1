-- newer: included by the scripts of the count cache.
-- True if what is cached (its version, or false) is newer than what comes. Versions are whole numbers in decimal: the
-- longer one is the larger, and those of one length compare digit by digit, beyond 2^53 too.
local function isNewer(cached, version)
  if not cached then return false end
  if #cached ~= #version then return #cached > #version end
  return cached > version
end
