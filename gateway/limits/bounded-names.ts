/**
 * Bounds the names that clients choose. The first `max` short names are kept. All others share one name, so no client can fill the memory.
 */
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
