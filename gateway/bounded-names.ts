/** Names that clients make up: the first `max` stay themselves, all others share one, so that inventing them fills nothing. */
export function makeBoundedNames(max: number, others: string): (name: string) => string {
  const known = new Set<string>()
  return (name) => {
    if (known.has(name)) return name
    if (known.size >= max) return others
    known.add(name)
    return name
  }
}
