/**
 * Scans all keys of the masters with SCAN, one node after the other, in short steps. The scan is circular: it begins where the last call
 * ended, so that calls with a small limit still reach everything. A call that takes less than its limit has completed a round, so "nothing
 * left" is returned only after a whole round without a find.
 */
import type { Redis } from 'ioredis'
import type { Connection } from './connection.ts'

/** Keys per SCAN. */
const CHUNK = 500

export function makeWalk(connection: Connection) {
  /** The position of the scan. A node is known by its address: if it is gone, the scan begins with the first node. */
  let position = { node: '', cursor: '0' }

  /**
   * Scans one node until `limit` or its end. `take` gets the keys of a step and the rest of the limit, and returns the number taken. If
   * that used up the limit, the next call repeats the step.
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
    // One step more than there are nodes: the first node is entered where the last call left it, and its beginning comes last.
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

/** The number of names among the keys of this pattern; undefined = no name. Counts no further than `max`. */
export async function countNames(
  connection: Connection,
  pattern: string,
  max: number,
  nameIn: (key: string) => string | undefined,
): Promise<number> {
  // SCAN may return a key twice, and a name may have several keys.
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
