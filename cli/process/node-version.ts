/**
 * Refuses an unsupported Node. The command loads this file first and it imports nothing: an old Node would otherwise fail with an error
 * about a missing module.
 */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

// Node 23 and 24.0 to 24.8 lack `shouldUpgradeCallback` (gateway/doors/server.ts).
const isFit = major > 24 || (major === 24 && minor >= 9) || (major === 22 && minor >= 21)
if (!isFit) {
  console.error(
    `Tidemark needs Node 22.21 or a later 22, or Node 24.9 or later, and this is ${process.versions.node}: install a newer one from nodejs.org`,
  )
  process.exit(1)
}
