/**
 * Refuses an unsupported Node. The command loads this file first and it imports nothing: an old Node would otherwise fail with an error
 * about a missing module.
 */
const [major = 0, minor = 0, patch = 0] = process.versions.node.split('.').map(Number)

// In earlier releases, V8 hashes strings such as "17" predictably. A crafted JSON body can then block the process (CVE-2026-21717).
// Node 23 and 25 get no fixes any more. Node 24 needs at least 24.9: `shouldUpgradeCallback` (gateway/doors/server.ts).
const isFit = major >= 26 || (major === 24 && isFrom(14, 1)) || (major === 22 && isFrom(22, 2))
if (!isFit) {
  console.error(
    `Tidemark does not run on Node ${process.versions.node}: from nodejs.org, install ` +
      'Node 22 (22.22.2 or later), Node 24 (24.14.1 or later), or Node 26 or later',
  )
  process.exit(1)
}

function isFrom(leastMinor: number, leastPatch: number): boolean {
  return minor > leastMinor || (minor === leastMinor && patch >= leastPatch)
}
