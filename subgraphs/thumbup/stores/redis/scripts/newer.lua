-- newer: included by the scripts of the count cache.
-- True if the cached version (or false) is newer than the given one. Versions are whole numbers in decimal. The longer one is
-- larger, and versions of one length compare digit by digit, also beyond 2^53.
local function isNewer(cached, version)
  if not cached then return false end
  if #cached ~= #version then return #cached > #version end
  return cached > version
end
