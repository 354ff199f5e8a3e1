/** A cache over recorded nodes: each call to a node is noted, and a node can be made to fail. */
import { MEMORY_LAYOUT, makeMemoryNode } from '../../cache/memory.ts'
import type { NodeClient } from '../../cache/node-client.ts'
import type { Stamped, TieredCache } from '../../cache/tiered-cache.ts'
import { makeTieredCache, type TieredCacheOptions } from '../../cache/tiers.ts'
import type { CacheLayout } from '../../config/cache.ts'
import { systemClock } from '../../core/clock.ts'
import { fixedValue } from '../../core/live-value.ts'

/** What a node does: it works, it does not answer, or it refuses to store. */
export type Behaviour = 'works' | 'fails' | 'refuses'

export const stamped = (text: string, version = 1): Stamped => ({ value: Buffer.from(text), version })

/** A cache in the memory of this process. */
export function memoryCache(options: TieredCacheOptions = {}): TieredCache {
  return makeTieredCache(
    systemClock,
    Math.random,
    fixedValue(MEMORY_LAYOUT),
    () => makeMemoryNode(systemClock, { bytesMax: 10_000_000 }),
    options,
  )
}

/** Notes `read NAME`, `set NAME`, `copy NAME` (a quiet set), `fill NAME` (if absent), `replace NAME` (a stale value), `cas NAME`. */
export function makeRecordedNode(inner: NodeClient, name: string, calls: string[], behaviour: () => Behaviour): NodeClient {
  const failing = (): Promise<never> | undefined => (behaviour() === 'fails' ? Promise.reject(new Error(`${name} is down`)) : undefined)
  const refusing = (): Promise<boolean> | undefined => failing() ?? (behaviour() === 'refuses' ? Promise.resolve(false) : undefined)
  return {
    getMany(keys) {
      calls.push(`read ${name}`)
      return failing() ?? inner.getMany(keys)
    },
    set(key, value, endsAt) {
      calls.push(`set ${name}`)
      return refusing() ?? inner.set(key, value, endsAt)
    },
    cas(key, value, state, endsAt) {
      calls.push(`cas ${name}`)
      return refusing() ?? inner.cas(key, value, state, endsAt)
    },
    setQuietly(key, value, endsAt) {
      calls.push(`copy ${name}`)
      if (behaviour() === 'works') inner.setQuietly(key, value, endsAt)
    },
    fillQuietly(key, value, state, endsAt) {
      calls.push(`${state === undefined ? 'fill' : 'replace'} ${name}`)
      if (behaviour() === 'works') inner.fillQuietly(key, value, state, endsAt)
    },
    connection: () => inner.connection(),
    answers: () => inner.answers(),
    check: () => failing() ?? inner.check(),
    reset: () => undefined,
    stop: () => Promise.resolve(),
  }
}

export type PoolName = 'main' | 'backup' | 'l1' | 'other l1'

const ADDRESSES: Record<PoolName, string> = { main: 'main:1', backup: 'backup:1', l1: 'group:1', 'other l1': 'group:2' }

export function recordedCache(inner: Record<PoolName, NodeClient>, behaviour: Partial<Record<PoolName, Behaviour>>, hasBackup = true) {
  const calls: string[] = []
  const layout: CacheLayout = {
    main: [ADDRESSES.main],
    ...(hasBackup ? { backup: [ADDRESSES.backup] } : {}),
    l1: [[ADDRESSES.l1], [ADDRESSES['other l1']]],
  }
  const connect = (address: string): NodeClient => {
    const name = (Object.keys(ADDRESSES) as PoolName[]).find((each) => ADDRESSES[each] === address) as PoolName
    return makeRecordedNode(inner[name], name, calls, () => behaviour[name] ?? 'works')
  }
  // Always the first group.
  const cache = makeTieredCache(systemClock, () => 0, fixedValue(layout), connect, { nodePatienceMs: 5_000, negativeTtlMs: 0 })
  return { cache, calls }
}
