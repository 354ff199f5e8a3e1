/**
 * Refuses an unsupported Node. The command loads this file first and it imports nothing: an old Node would otherwise fail with an error
 * about a missing module.
 */
const [major = 0, minor = 0, patch = 0] = process.versions.node.split('.').map(Number)

// In earlier releases, texts that are small numbers have predictable hashes. A JSON body that is made for it blocks the process
// (CVE-2026-21717).
const isFit = major >= 26 || (major === 24 && isFrom(14, 1)) || (major === 22 && isFrom(22, 2))
if (!isFit) {
  console.error(
    `Tidemark needs Node 22.22.2 or a later 22, 24.14.1 or a later 24, or 26 or later, and this is ${process.versions.node}: install a newer one from nodejs.org`,
  )
  process.exit(1)
}

function isFrom(leastMinor: number, leastPatch: number): boolean {
  return minor > leastMinor || (minor === leastMinor && patch >= leastPatch)
}
