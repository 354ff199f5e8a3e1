/**
 * The tiered cache (port: `tiered-cache.ts`): the rules of writes, and the parts that reads need (`read.ts`). Pools fail by answers, not
 * by errors, so each rule is one line here. Fills and the copies of a write are sent without waiting.
 *
 * A fill never replaces a newer value by an older one, if the node takes it at all: after a plain miss it adds, and after a stale value it
 * compares and sets. Two older values remain possible, and `minVersion` makes both harmless, because a value below it counts as a miss:
 * - A value is evicted, then a fill that began earlier adds an older one.
 * - Two writes of a key reach two pools in different orders, because their copies travel over different connections.
 * Without `minVersion`, such a value stays until its end (`ttlMs`).
 */
import type { Clock } from '../core/clock.ts'
import type { Random } from '../core/random.ts'
import { makeClassFigures } from './class-figures.ts'
import { makeGenerations, type Pools, type Layouts } from './generations.ts'
import { makeGuardedNode, type NodeNotices } from './guarded-node.ts'
import { makeLoads } from './loads.ts'
import type { NodeClient } from './node-client.ts'
import type { Pool } from './pool.ts'
import { makeRead } from './read.ts'
import type { CasToken, Found, IsIntact, Load, MinVersion, NodeFigures, Stamped, TieredCache } from './tiered-cache.ts'

export type TieredCacheOptions = {
  /** Milliseconds after its load or write until a value leaves all pools. Minimum 1000. Default 600000. */
  ttlMs?: number
  /** Milliseconds that a node may take for an answer. Minimum 1. Default 100. */
  nodePatienceMs?: number
  /** Milliseconds between two checks of a node that is down. Minimum 1. Default 250. */
  checkEveryMs?: number
  /** Milliseconds for which an absent value is remembered. Minimum 0. Default 1000. */
  negativeTtlMs?: number
  /** Concurrent calls of `load`. Minimum 1. Default 8. */
  loadsAtOnce?: number
}

/** `connect` makes the connection to an address, `host:port`. */
export function makeTieredCache(
  clock: Clock,
  random: Random,
  layouts: Layouts,
  connect: (address: string) => NodeClient,
  options: TieredCacheOptions = {},
  notices: NodeNotices = { down: () => undefined, up: () => undefined },
): TieredCache {
  const { ttlMs = 600_000, nodePatienceMs = 100, checkEveryMs = 250, negativeTtlMs = 1_000, loadsAtOnce = 8 } = options
  const guard = { patienceMs: nodePatienceMs, checkEveryMs }
  const generations = makeGenerations(layouts, (address) => makeGuardedNode(clock, address, connect(address), guard, notices))
  // The time from a miss in the first tier to the call of `load`, unless nodes are slow.
  const loads = makeLoads(clock, { loadsAtOnce, negativeTtlMs, graceMs: 3 * nodePatienceMs })
  const classes = makeClassFigures()
  const read = makeRead(clock, random, ttlMs, loads, classes)

  async function getMany(
    keys: readonly string[],
    load: Load,
    minVersion: MinVersion = () => -Infinity,
    isIntact: IsIntact = () => true,
  ): Promise<(Found | undefined)[]> {
    const [first] = keys
    if (first === undefined) return []
    const begun = clock.now()
    try {
      return await generations.run((pools) => read(pools, keys, load, minVersion, isIntact))
    } finally {
      const figures = classes.of(first)
      figures.calls++
      figures.ms += clock.now() - begun
    }
  }

  const getHeld = async (pools: Pools, key: string): Promise<{ stamped: Stamped; token: CasToken } | undefined> => {
    for (const name of ['main', 'backup'] as const) {
      const pool = pools[name]
      const node = pool?.nodeOf(key)
      if (pool === undefined || node === undefined) continue
      const connection = node.client.connection()
      const [held] = await pool.getMany([key])
      if (held) return { stamped: held, token: { pool: name, node, connection, state: held.state } }
    }
    return undefined
  }

  async function compareAndSet(pools: Pools, key: string, stamped: Stamped, token: CasToken): Promise<boolean> {
    const pool = pools[token.pool]
    const node = pool?.nodeOf(key)
    if (pool === undefined || node !== token.node || node.client.connection() !== token.connection) return false
    const endsAt = clock.now() + ttlMs
    if (!(await pool.cas(key, stamped, token.state, endsAt))) return false
    for (const other of pools.all) if (other !== pool) other.setQuietly(key, stamped, endsAt)
    loads.forget(key)
    return true
  }

  async function set({ main, backup, l1 }: Pools, key: string, stamped: Stamped): Promise<boolean> {
    const endsAt = clock.now() + ttlMs
    const isInMain = await main.set(key, stamped, endsAt)
    if (isInMain) backup?.setQuietly(key, stamped, endsAt)
    const isStored = isInMain || (await backup?.set(key, stamped, endsAt)) === true
    if (isStored) for (const group of l1) group.setQuietly(key, stamped, endsAt)
    loads.forget(key)
    return isStored
  }

  return {
    getMany,
    gets: (key) => generations.run((pools) => getHeld(pools, key)),
    cas: (key, stamped, token) => generations.run((pools) => compareAndSet(pools, key, stamped, token)),
    set: (key, stamped) => generations.run((pools) => set(pools, key, stamped)),
    figures: () => ({ classes: classes.all(), nodes: generations.current().all.flatMap(nodeFigures) }),
    stop: generations.stop,
  }
}

function nodeFigures({ name, members }: Pool): NodeFigures[] {
  const total = members.reduce((sum, { reads }) => sum + reads.keys, 0)
  return members.map(({ node, reads }) => ({
    pool: name,
    address: node.address,
    isDown: node.isDown(),
    opened: node.opened(),
    reads: reads.keys,
    share: total === 0 ? 0 : reads.keys / total,
  }))
}
