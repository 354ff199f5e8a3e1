/**
 * The first thing the command loads: an old Node would end with an error about a module it lacks. Imports nothing, so that
 * nothing else fails first.
 */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < 22 || (major === 22 && minor < 19)) {
  console.error(`Tidemark needs Node 22.19 or later, and this is ${process.versions.node}: install a newer one from nodejs.org`)
  process.exit(1)
}
