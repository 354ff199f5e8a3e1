/**
 * The pools of the newest layout. A change of the layout makes a new generation of pools. Nodes that stay keep their connections. A call uses
 * the generation in which it began to its end. The connections of removed nodes are closed when no call of an older generation runs, so a
 * change of the layout fails no call.
 */
import type { LiveValue } from '../core/live-value.ts'
import { cacheNodeOf, type CacheLayout } from '../config/cache.ts'
import type { GuardedNode } from './guarded-node.ts'
import { makePool, type Member, type Pool } from './pool.ts'

export type Pools = { main: Pool; backup: Pool | undefined; l1: readonly Pool[]; all: readonly Pool[] }

type Generation = { pools: Pools; calls: number; isOld: boolean; removed: GuardedNode[]; next: Generation | undefined }

export type Generations = {
  /** Runs a call with the newest pools. They stay usable until it ends. */
  run<T>(call: (pools: Pools) => Promise<T>): Promise<T>
  current(): Pools
  /** Waits for calls under way, and for those that begin meanwhile. Then closes all connections. */
  stop(): Promise<void>
}

/** The layout in use, and its changes. */
export type Layouts = Pick<LiveValue<CacheLayout>, 'current' | 'follow'>

export function makeGenerations(layouts: Layouts, connect: (address: string) => GuardedNode): Generations {
  let nodes = new Map<string, GuardedNode>()
  let oldest: Generation = makeGeneration(layouts.current().value)
  let newest = oldest
  let stopping: { resolve(): void } | undefined
  const closing = new Set<Promise<void>>()
  const unfollow = layouts.follow(({ value }) => {
    const previous = nodes
    const next = makeGeneration(value)
    newest.isOld = true
    newest.next = next
    newest.removed = [...previous.values()].filter((node) => nodes.get(node.address) !== node)
    newest = next
    closeUnused()
  })

  function makeGeneration(layout: CacheLayout): Generation {
    const kept = new Map<string, GuardedNode>()
    const membersOf = (texts: readonly string[]): Member[] =>
      texts.map((text) => {
        const { host, port, weight } = cacheNodeOf(text) ?? { host: text, port: 0, weight: 1 }
        const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
        const node = nodes.get(address) ?? connect(address)
        kept.set(address, node)
        return { node, weight, reads: { keys: 0 } }
      })
    const main = makePool('main', membersOf(layout.main))
    const backup = layout.backup === undefined ? undefined : makePool('backup', membersOf(layout.backup))
    const l1 = layout.l1.map((texts, group) => makePool(`l1-${group}`, membersOf(texts)))
    nodes = kept
    return {
      pools: { main, backup, l1, all: [main, ...(backup === undefined ? [] : [backup]), ...l1] },
      calls: 0,
      isOld: false,
      removed: [],
      next: undefined,
    }
  }

  /** In order of age: a node that a generation removed may be in use by calls of all older ones. */
  function closeUnused(): void {
    while (oldest.isOld && oldest.calls === 0) {
      for (const node of oldest.removed) close(node)
      oldest = oldest.next as Generation
    }
    if (stopping !== undefined && oldest === newest && newest.calls === 0) stopping.resolve()
  }

  function close(node: GuardedNode): void {
    const closed = node.stop().finally(() => closing.delete(closed))
    closing.add(closed)
  }

  async function run<T>(call: (pools: Pools) => Promise<T>): Promise<T> {
    const generation = newest
    generation.calls++
    try {
      return await call(generation.pools)
    } finally {
      generation.calls--
      if (generation.calls === 0) closeUnused()
    }
  }

  let stopped: Promise<void> | undefined
  async function stop(): Promise<void> {
    unfollow()
    await new Promise<void>((resolve) => {
      stopping = { resolve }
      closeUnused()
    })
    for (const node of nodes.values()) close(node)
    await Promise.all(closing)
  }

  return { run, current: () => newest.pools, stop: () => (stopped ??= stop()) }
}
