/** Names that clients make up. The first `max` short ones stay themselves; all others share one, so that no client fills the memory. */
const LENGTH_MAX = 128

export function makeBoundedNames(max: number, others: string): (name: string) => string {
  const known = new Set<string>()
  return (name) => {
    if (known.has(name)) return name
    if (known.size >= max || name.length > LENGTH_MAX) return others
    known.add(name)
    return name
  }
}
