/**
 * Walking over all keys of the masters with SCAN, a node after the other, in steps that hold up nobody. The walk goes round:
 * it begins where the last call ended, so that calls with a small limit still reach everything; a call that takes less
 * than its limit has been round once, so that "nothing left" is said only after a whole round that found nothing.
 */
import type { Redis } from 'ioredis'
import type { Connection } from './connection.ts'

/** Keys a SCAN looks at. */
const CHUNK = 500

export function makeWalk(connection: Connection) {
  /** Where the walk goes on. A node is known by its address: if it is gone, the walk begins with the first. */
  let position = { node: '', cursor: '0' }

  /**
   * Walks one node until `limit` or its end. `take` is given the keys of a step and how much is left of the limit; it returns
   * what it took. If that used up the limit, the step is walked again the next time.
   */
  async function walkNode(node: Redis, pattern: string, limit: number, take: (keys: string[], room: number) => Promise<number>) {
    let taken = 0
    for (;;) {
      const [cursor, keys] = await connection.insist(() => node.scan(position.cursor, 'MATCH', pattern, 'COUNT', CHUNK))
      if (keys.length > 0) taken += await take(keys, limit - taken)
      if (taken >= limit) return { taken, ended: false }
      position.cursor = cursor
      if (cursor === '0') return { taken, ended: true }
    }
  }

  return async function walk(pattern: string, limit: number, take: (keys: string[], room: number) => Promise<number>): Promise<number> {
    const nodes = (await connection.masters()).toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
    let at = nodes.findIndex((node) => nameOf(node) === position.node)
    if (at < 0) {
      at = 0
      position = { node: '', cursor: '0' }
    }
    let taken = 0
    // One step more than there are nodes: the first is entered where the last call left it, and its beginning comes last.
    const steps = nodes.length + (position.cursor === '0' ? 0 : 1)
    for (let step = 0; step < steps && taken < limit; step++) {
      const node = nodes[(at + step) % nodes.length] as Redis
      position.node = nameOf(node)
      const walked = await walkNode(node, pattern, limit - taken, take)
      taken += walked.taken
      if (walked.ended) position = { node: nameOf(nodes[(at + step + 1) % nodes.length] as Redis), cursor: '0' }
    }
    return taken
  }
}

/** How many names the keys of this pattern have; undefined = it is none of them. Counts no further than `max`. */
export async function countNames(
  connection: Connection,
  pattern: string,
  max: number,
  nameIn: (key: string) => string | undefined,
): Promise<number> {
  // SCAN may tell a key twice, and a name may have several.
  const names = new Set<string>()
  await makeWalk(connection)(pattern, max, (keys) => {
    const before = names.size
    for (const name of keys.map(nameIn)) if (name !== undefined) names.add(name)
    return Promise.resolve(names.size - before)
  })
  return Math.min(max, names.size)
}

function nameOf(node: Redis): string {
  return `${node.options.host}:${node.options.port}`
}
