/**
 * The acknowledged writes of the load. Only the last state of each key is kept: a position, a mark, a follow, a post, an issue. A write
 * without an answer may have happened or not, so its key leaves the ledger.
 */

export type Acknowledged = {
  /** The last acknowledged position, by viewer and video. */
  positions: Map<string, Map<string, number>>
  likes: Map<string, Set<string>>
  follows: Map<string, Set<string>>
  issued: Map<string, Set<string>>
  /** Post ids by author. */
  posts: Map<string, string[]>
}

export function makeLedger(): Acknowledged {
  return { positions: new Map(), likes: new Map(), follows: new Map(), issued: new Map(), posts: new Map() }
}

/** The value of a viewer, made if it is missing. */
export function valueOf<V>(map: Map<string, V>, viewer: string, make: () => V): V {
  let value = map.get(viewer)
  if (value === undefined) map.set(viewer, (value = make()))
  return value
}

export function sizeOf({ positions, likes, follows, issued, posts }: Acknowledged): number {
  const sizes = [
    ...Array.from(positions.values(), ({ size }) => size),
    ...[likes, follows, issued].flatMap((map) => Array.from(map.values(), ({ size }) => size)),
    ...Array.from(posts.values(), ({ length }) => length),
  ]
  return sizes.reduce((sum, each) => sum + each, 0)
}
