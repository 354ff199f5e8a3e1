/** Nodes that fail, on real servers. Every read must be right, in a bounded time and without an error. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { makeMemcachedClient } from '../../cache/memcached/client.ts'
import type { Stamped, TieredCache } from '../../cache/tiered-cache.ts'
import { makeTieredCache, type TieredCacheOptions } from '../../cache/tiers.ts'
import type { CacheLayout } from '../../config/cache.ts'
import { systemClock } from '../../core/clock.ts'
import { fixedValue } from '../../core/live-value.ts'
import { memcachedIsHere, startMemcachedNodes, type MemcachedNode } from '../../harness/deployment/memcached-nodes.ts'
import { startRubbishServer } from '../../harness/faults/rubbish-server.ts'
import { until } from '../../harness/until.ts'
import { stamped } from './recording.ts'

const KEYS = Array.from({ length: 200 }, (_, at) => `h${at}`)
/** Long enough for a machine under load, and short in comparison to the bounds below. */
const PATIENCE_MS = 700
/** Three tiers may each take their patience once. The rest is for a machine under load. */
const READ_MAX_MS = 3 * PATIENCE_MS + 3_000

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function startNodes(settings: readonly (readonly string[])[]): Promise<MemcachedNode[]> {
  const { nodes, stop } = await startMemcachedNodes(settings)
  cleanups.push(stop)
  return nodes
}

function open(layout: CacheLayout, options: TieredCacheOptions = {}): TieredCache {
  const connect = (address: string) => makeMemcachedClient(systemClock, address)
  const cache = makeTieredCache(systemClock, Math.random, fixedValue(layout), connect, {
    nodePatienceMs: PATIENCE_MS,
    checkEveryMs: 50,
    ...options,
  })
  cleanups.push(() => cache.stop())
  return cache
}

/** The truth: a value per key, and the keys that were loaded. */
function makeTruth() {
  const version = new Map<string, number>()
  const loaded: string[] = []
  const valueOf = (key: string): Stamped => stamped(`${key} at ${version.get(key) ?? 1}`, version.get(key) ?? 1)
  return {
    loaded,
    minVersion: (key: string) => version.get(key) ?? 1,
    load: async (keys: readonly string[]) => {
      loaded.push(...keys)
      return keys.map(valueOf)
    },
    change(key: string): Stamped {
      version.set(key, (version.get(key) ?? 1) + 1)
      return valueOf(key)
    },
    valueOf,
  }
}

/** Reads all keys, checks each value and the time, and returns the number of loaded keys. */
async function readAll(cache: TieredCache, truth: ReturnType<typeof makeTruth>, maxMs = READ_MAX_MS): Promise<number> {
  const [loadedBefore, begun] = [truth.loaded.length, performance.now()]
  const values = await cache.getMany(KEYS, truth.load, truth.minVersion)
  expect(performance.now() - begun).toBeLessThan(maxMs)
  expect(values.map((each) => each?.value.toString())).toEqual(KEYS.map((key) => truth.valueOf(key).value.toString()))
  return truth.loaded.length - loadedBefore
}

const isUp = (cache: TieredCache, address: string): boolean =>
  cache.figures().nodes.some((node) => node.address === address && !node.isDown)

describe.skipIf(!(await memcachedIsHere()))('a node that fails', () => {
  test('a killed node of Main: its keys come from Backup, and after its restart, empty, it is filled again', async () => {
    const [one, two, backup] = (await startNodes([[], [], []])) as [MemcachedNode, MemcachedNode, MemcachedNode]
    const cache = open({ main: [one.address, two.address], backup: [backup.address], l1: [] })
    const truth = makeTruth()
    expect(await readAll(cache, truth)).toBe(KEYS.length)
    expect(await readAll(cache, truth)).toBe(0)
    await one.kill()
    expect(await readAll(cache, truth)).toBe(0)
    expect(isUp(cache, one.address)).toBe(false)
    const before = cache.figures().classes['h']?.backup ?? 0
    expect(before).toBeGreaterThan(50)

    await one.start()
    await until('the node is used again', () => isUp(cache, one.address))
    expect(await readAll(cache, truth)).toBe(0)
    // Backup had filled it: now Main has all keys.
    const filled = cache.figures().classes['h']?.backup
    expect(await readAll(cache, truth)).toBe(0)
    expect(cache.figures().classes['h']?.backup).toBe(filled)
  })

  test('with every node killed, each read is right from the load, and writes say that they failed', async () => {
    const nodes = await startNodes([[], [], []])
    const [main, backup, group] = nodes.map(({ address }) => address) as [string, string, string]
    const cache = open({ main: [main], backup: [backup], l1: [[group]] })
    const truth = makeTruth()
    await readAll(cache, truth)
    for (const node of nodes) await node.kill()
    // Loads of the last moment are shared. Changes end that.
    for (const key of KEYS) truth.change(key)
    expect(await readAll(cache, truth)).toBe(KEYS.length)
    expect(await cache.set('h0', truth.valueOf('h0'))).toBe(false)
    expect(await cache.gets('h0')).toBeUndefined()
  })

  test('a node that stalls costs one bounded wait, and the next reads do not wait', async () => {
    const [main, backup] = (await startNodes([[], []])) as [MemcachedNode, MemcachedNode]
    const cache = open({ main: [main.address], backup: [backup.address], l1: [] })
    const truth = makeTruth()
    await readAll(cache, truth)
    await readAll(cache, truth)
    await main.freeze()
    try {
      const begun = performance.now()
      expect(await readAll(cache, truth)).toBe(0)
      expect(performance.now() - begun).toBeGreaterThanOrEqual(PATIENCE_MS - 5)
      // While it stalls, ten reads take less than one patience: nobody waits for it.
      const after = performance.now()
      for (let i = 0; i < 10; i++) expect(await readAll(cache, truth)).toBe(0)
      expect(performance.now() - after).toBeLessThan(10 * PATIENCE_MS)
      expect(await cache.set('h0', truth.change('h0'))).toBe(true)
      await readAll(cache, truth)
    } finally {
      main.thaw()
    }
    await until('the node is used again', () => isUp(cache, main.address))
    // It has the value from before the write, which the version shows.
    expect(await readAll(cache, truth)).toBe(0)
    expect(cache.figures().classes['h']?.stale).toBe(1)
  })

  test('a process that is busy for longer than its patience does not take its nodes for dead', async () => {
    const [main, backup] = (await startNodes([[], []])) as [MemcachedNode, MemcachedNode]
    const cache = open({ main: [main.address], backup: [backup.address], l1: [] }, { nodePatienceMs: 300 })
    const truth = makeTruth()
    await readAll(cache, truth)
    for (let round = 0; round < 3; round++) {
      const reading = readAll(cache, truth)
      // The request is sent at the end of this turn, and its answer arrives while the process is busy.
      setImmediate(() => {
        for (const end = Date.now() + 600; Date.now() < end;);
      })
      expect(await reading).toBe(0)
    }
    expect(cache.figures().nodes.map(({ opened }) => opened)).toEqual([0, 0])
  })

  test('a burst of large reads that takes longer than the patience does not take the node for dead', async () => {
    const [main] = (await startNodes([[]])) as [MemcachedNode]
    const layout = { main: [main.address], l1: [] }
    const keys = Array.from({ length: 2_000 }, (_, at) => `b${at}`)
    const patient = open(layout, { nodePatienceMs: 60_000 })
    await patient.getMany(keys, async (missing) => missing.map(() => ({ value: Buffer.alloc(800), version: 1 })))

    async function burst(cache: TieredCache): Promise<number> {
      const begun = performance.now()
      await Promise.all(Array.from({ length: 80 }, () => cache.getMany(keys, () => Promise.reject(new Error('a key was lost')))))
      return performance.now() - begun
    }

    const ms = await burst(patient)
    // Memcached sends the answers to 20 pipelined requests (`-R`) together, a quarter of the burst.
    const cache = open(layout, { nodePatienceMs: Math.floor(ms / 2) })
    await burst(cache)
    expect(cache.figures().nodes[0]?.opened).toBe(0)
  })

  test('a server that sends a byte now and then, but no whole answer, costs one patience', async () => {
    const rubbish = await startRubbishServer(Buffer.from('VALUE h0 0 1000000 1\r\n'), 10)
    cleanups.push(() => rubbish.close())
    const cache = open({ main: [rubbish.address], l1: [] }, { nodePatienceMs: 100 })
    const truth = makeTruth()
    const begun = performance.now()
    await readAll(cache, truth)
    const ms = performance.now() - begun
    expect(ms).toBeGreaterThanOrEqual(95)
    expect(ms).toBeLessThan(1_000)
    expect(isUp(cache, rubbish.address)).toBe(false)
  })

  test.each([
    { full: 'that evicts', settings: ['--memory-limit=2', '--max-item-size=512k'] },
    { full: 'that refuses', settings: ['--memory-limit=2', '--max-item-size=512k', '--disable-evictions'] },
  ])('a full node $full: every read and write is right', async ({ settings }) => {
    const [main, backup] = (await startNodes([settings, settings])) as [MemcachedNode, MemcachedNode]
    const cache = open({ main: [main.address], backup: [backup.address], l1: [] })
    const bytes = Buffer.alloc(10_000, 'x')
    const keys = Array.from({ length: 1_000 }, (_, at) => `c${at}`)
    const load = async (missing: readonly string[]) =>
      missing.map((key) => ({ value: Buffer.concat([Buffer.from(`${key} `), bytes]), version: 1 }))
    let isRefused = false
    for (let round = 0; round < 3; round++) {
      for (let from = 0; from < keys.length; from += 100) {
        const part = keys.slice(from, from + 100)
        const values = await cache.getMany(part, load)
        expect(values.map((each) => each?.value.toString('latin1').split(' ')[0])).toEqual(part)
      }
      isRefused ||= !(await cache.set(`c${round}`, { value: Buffer.concat([Buffer.from(`c${round} `), bytes]), version: 2 }))
    }
    expect(isRefused).toBe(settings.includes('--disable-evictions'))
    expect(cache.figures().nodes.every(({ opened }) => opened === 0)).toBe(true)
  })

  test.each([
    { answer: 'a web page', bytes: 'HTTP/1.1 400 Bad Request\r\n\r\n<html>' },
    { answer: 'an error', bytes: 'ERROR\r\n' },
    { answer: 'a value of another key', bytes: 'VALUE other 0 10 1\r\n0123456789\r\nEND\r\n' },
    { answer: 'a value without an end', bytes: 'VALUE h0 0 1000000 1\r\n' },
    { answer: 'random bytes', bytes: '\u0000\u0001VA\u00ff\u0000' },
    { answer: 'an endless line', bytes: 'x'.repeat(10_000) },
  ])('a server that answers with $answer is not asked again, and every read is right', async ({ bytes }) => {
    const rubbish = await startRubbishServer(Buffer.from(bytes, 'latin1'))
    cleanups.push(() => rubbish.close())
    const [backup] = (await startNodes([[]])) as [MemcachedNode]
    const cache = open({ main: [rubbish.address], backup: [backup.address], l1: [] }, { checkEveryMs: 20 })
    const truth = makeTruth()
    await readAll(cache, truth)
    await sleep(100)
    for (let i = 0; i < 5; i++) expect(await readAll(cache, truth)).toBe(0)
    expect(isUp(cache, rubbish.address)).toBe(false)
    expect(cache.figures().nodes.find(({ address }) => address === rubbish.address)?.reads).toBe(KEYS.length)
    expect(rubbish.requests()).toBeGreaterThan(1)
  })

  test('a token of gets is not valid after a restart of the node, even if the new node has the same number of the state', async () => {
    const [main] = (await startNodes([[]])) as [MemcachedNode]
    const cache = open({ main: [main.address], l1: [] })
    await cache.set('h0', stamped('mine'))
    const found = await cache.gets('h0')
    await main.kill()
    await main.start()
    await until('the connection has ended', async () => (await cache.gets('h0')) === undefined && isUp(cache, main.address))
    await cache.set('h0', stamped('of another process'))
    expect((await cache.gets('h0'))?.token.state).toBe(found?.token.state)
    expect(await cache.cas('h0', stamped('lost update'), (found as NonNullable<typeof found>).token)).toBe(false)
    expect((await cache.gets('h0'))?.stamped.value.toString()).toBe('of another process')
  })
})
