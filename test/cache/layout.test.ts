/** A layout that changes while the cache is used, on real servers. */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { makeMemcachedClient } from '../../cache/memcached/client.ts'
import type { NodeClient } from '../../cache/node-client.ts'
import { makeTieredCache } from '../../cache/tiers.ts'
import type { CacheLayout } from '../../config/cache.ts'
import { systemClock } from '../../core/clock.ts'
import { makeHeldValue } from '../../core/live-value.ts'
import { randomBelow, seededRandom } from '../../core/random.ts'
import { memcachedIsHere, startMemcachedNodes } from '../../harness/deployment/memcached-nodes.ts'
import { until } from '../../harness/until.ts'
import { stamped } from './recording.ts'

const CHANGES = 100
const KEYS = Array.from({ length: 300 }, (_, at) => `h${at}`)

function liveLayout(first: CacheLayout) {
  const held = makeHeldValue({ value: first, version: 0 }, (error) => {
    throw error
  })
  return {
    ...held,
    stop: () => Promise.resolve(),
    change: (value: CacheLayout) => held.replace({ value, version: held.current().version + 1 }),
  }
}

/** Counts the connections that are open, by address. */
function countingConnect() {
  const made: string[] = []
  const open = new Set<string>()
  const connect = (address: string): NodeClient => {
    expect(open.has(address)).toBe(false)
    made.push(address)
    open.add(address)
    const client = makeMemcachedClient(systemClock, address)
    return {
      ...client,
      async stop() {
        open.delete(address)
        await client.stop()
      },
    }
  }
  return { connect, made, open }
}

describe.skipIf(!(await memcachedIsHere()))('a layout that changes', () => {
  test('100 changes under load: no error, no wrong value, and no read that is older than a write before it', async () => {
    const { nodes, stop } = await startMemcachedNodes(Array.from({ length: 8 }, () => []))
    const addresses = nodes.map(({ address }) => address)
    const random = seededRandom(18)
    const layouts = liveLayout({ main: addresses.slice(0, 3), backup: addresses.slice(3, 4), l1: [] })
    const down: unknown[] = []
    // A connection of a removed node may still be open when the node returns.
    const connect = (address: string) => makeMemcachedClient(systemClock, address)
    const options = { nodePatienceMs: 20_000, negativeTtlMs: 10 }
    const caches = [0, 1].map(() =>
      makeTieredCache(systemClock, random, layouts, connect, options, {
        down: (_, reason) => down.push(reason),
        up: () => undefined,
      }),
    )
    const versions = new Map<string, number>()
    const failures: string[] = []
    let [reads, writes, isOver] = [0, 0, false]

    /** As the feed does it: first the store has the change, then it is noted, then the pools get it. */
    async function write(cache: (typeof caches)[0]): Promise<void> {
      const key = KEYS[randomBelow(random, KEYS.length)] as string
      const version = (versions.get(key) ?? 1) + 1
      versions.set(key, version)
      await cache.set(key, stamped(`${key} ${version}`, version))
      writes++
    }

    async function read(cache: (typeof caches)[0]): Promise<void> {
      const from = randomBelow(random, KEYS.length - 50)
      const keys = KEYS.slice(from, from + 50)
      const noted = new Map(keys.map((key) => [key, versions.get(key) ?? 1]))
      const load = async (missing: readonly string[]) =>
        missing.map((key) => stamped(`${key} ${versions.get(key) ?? 1}`, versions.get(key) ?? 1))
      const values = await cache.getMany(keys, load, (key) => noted.get(key) as number)
      keys.forEach((key, at) => {
        const [name, version] = (values[at]?.value.toString() ?? '').split(' ')
        if (name !== key || Number(version) < (noted.get(key) as number))
          failures.push(`${key} after ${noted.get(key)}: ${name} ${version}`)
      })
      reads++
    }

    const workers = caches.flatMap((cache) =>
      [write, read, read, read].map(async (work) => {
        while (!isOver) {
          await work(cache)
          await sleep(0)
        }
      }),
    )
    for (let change = 0; change < CHANGES; change++) {
      const shuffled = addresses.toSorted(() => random() - 0.5)
      const mains = 1 + randomBelow(random, 4)
      const groups = randomBelow(random, 3)
      layouts.change({
        main: shuffled.slice(0, mains).map((address) => `${address}*${1 + randomBelow(random, 3)}`),
        ...(random() < 0.7 ? { backup: shuffled.slice(mains, mains + 1) } : {}),
        l1: Array.from({ length: groups }, (_, at) => shuffled.slice(mains + 1 + at, mains + 2 + at)),
      })
      await sleep(5 * random())
    }
    isOver = true
    await Promise.all(workers)
    expect(failures).toEqual([])
    expect(down).toEqual([])
    expect(reads).toBeGreaterThan(CHANGES)
    expect(writes).toBeGreaterThan(CHANGES / 2)
    await Promise.all(caches.map((cache) => cache.stop()))
    await stop()
  })

  test('nodes that stay keep their connections, and a removed node is closed when the calls before the change have ended', async () => {
    const { nodes, stop } = await startMemcachedNodes([[], [], []])
    const [one, two, three] = nodes.map(({ address }) => address) as [string, string, string]
    const { connect, made, open } = countingConnect()
    const layouts = liveLayout({ main: [one], backup: [two], l1: [] })
    const cache = makeTieredCache(systemClock, Math.random, layouts, connect, { nodePatienceMs: 20_000 })
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const underWay = cache.getMany(['k'], async () => {
      begun.resolve()
      await gate.promise
      return [stamped('v')]
    })
    await begun.promise
    // A node that moves from one pool to another stays, too.
    layouts.change({ main: [two, three], l1: [] })
    await cache.set('k', stamped('w', 2))
    expect(made).toEqual([one, two, three])
    expect(open).toEqual(new Set([one, two, three]))
    gate.resolve()
    expect((await underWay)[0]?.value.toString()).toBe('v')
    await until('the removed node is closed', () => !open.has(one))
    expect((await cache.getMany(['k'], () => Promise.reject(new Error('not needed'))))[0]?.value.toString()).toBe('w')
    expect(made).toEqual([one, two, three])
    await cache.stop()
    expect(open.size).toBe(0)
    await stop()
  })

  test('the figures show the share of each node in the reads of its pool, which follows its weight', async () => {
    const { nodes, stop } = await startMemcachedNodes([[], [], []])
    const [one, two, three] = nodes.map(({ address }) => address) as [string, string, string]
    const layouts = liveLayout({ main: [one, `${two}*3`], backup: [three], l1: [] })
    const cache = makeTieredCache(systemClock, Math.random, layouts, (address) => makeMemcachedClient(systemClock, address))
    const keys = Array.from({ length: 4_000 }, (_, at) => `h${at}`)
    await cache.getMany(keys, async (missing) => missing.map((key) => stamped(key)))
    const { nodes: figures, classes } = cache.figures()
    expect(figures.map(({ pool, address }) => [pool, address])).toEqual([
      ['main', one],
      ['main', two],
      ['backup', three],
    ])
    expect(figures[0]?.share).toBeCloseTo(0.25, 1)
    expect((figures[0]?.share ?? 0) + (figures[1]?.share ?? 0)).toBe(1)
    expect(figures[2]).toMatchObject({ reads: 4_000, share: 1, isDown: false, opened: 0 })
    expect(classes).toMatchObject({ h: { main: 0, backup: 0, misses: 4_000, loaded: 4_000, calls: 1 } })
    await cache.stop()
    await stop()
  })

  test('a token of gets is not valid if the layout has moved the key since', async () => {
    const { nodes, stop } = await startMemcachedNodes([[], []])
    const [one, two] = nodes.map(({ address }) => address) as [string, string]
    const layouts = liveLayout({ main: [one], l1: [] })
    const cache = makeTieredCache(systemClock, Math.random, layouts, (address) => makeMemcachedClient(systemClock, address))
    await cache.set('k', stamped('v'))
    const found = await cache.gets('k')
    layouts.change({ main: [two], l1: [] })
    await cache.set('k', stamped('v'))
    expect((await cache.gets('k'))?.token.state).toBe(found?.token.state)
    expect(await cache.cas('k', stamped('w', 2), (found as NonNullable<typeof found>).token)).toBe(false)
    await cache.stop()
    await stop()
  })
})
