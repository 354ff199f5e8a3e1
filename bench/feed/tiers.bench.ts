/**
 * What does a tier cost? A page reads 2,000 heads of outboxes, 256 bytes each, in one call of `getMany`. The heads are in L1, or in Main after
 * a miss in L1, or in Backup after two misses, or nowhere, so that they are loaded and fill all pools. The limit is the same read from one
 * Memcached through a bare socket that only counts bytes. The client alone parses them. Heads of 800 bytes show the cost of a byte.
 *
 *     npm run bench -- tiers [--quick] [--json]
 *
 * All scenarios run in turn, on four nodes of their own. CPU is that of this process. A write of 2,000 fills counts in the scenario that sends
 * it.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { makeMemcachedClient } from '../../cache/memcached/client.ts'
import { MEMORY_LAYOUT, makeMemoryNode } from '../../cache/memory.ts'
import type { NodeClient } from '../../cache/node-client.ts'
import type { Stamped, TieredCache } from '../../cache/tiered-cache.ts'
import { makeTieredCache } from '../../cache/tiers.ts'
import { systemClock } from '../../core/clock.ts'
import { fixedValue } from '../../core/live-value.ts'
import { startMemcachedNodes } from '../../harness/deployment/memcached-nodes.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

const HEADS = 2_000
const HEAD_BYTES = 256
const LARGE_BYTES = 800
const STAMP_BYTES = 8
const TTL_MS = 3_600_000
const ENDS_AT = Date.now() + TTL_MS
const WARM_UP_ROUNDS = 10
const OPTIONS = { nodePatienceMs: 30_000, ttlMs: TTL_MS }

type Scenario = {
  name: string
  /** The scenario that it is compared with. */
  limit?: string
  /** Not timed. */
  prepare?(round: number): Promise<void>
  run(round: number): Promise<unknown>
}

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  progress('starting four Memcached nodes')
  const { nodes, stop } = await startMemcachedNodes([1, 2, 3, 4].map(() => ['--memory-limit=1024']))
  const [main, backup, group, large] = nodes.map(({ address }) => address) as [string, string, string, string]
  const clients = [main, backup, group, large].map((address) => makeMemcachedClient(systemClock, address))
  const [mainClient, backupClient, groupClient, largeClient] = clients as [NodeClient, NodeClient, NodeClient, NodeClient]
  const layout = { main: [main], backup: [backup], l1: [[group]] }
  const cache = makeTieredCache(
    systemClock,
    Math.random,
    fixedValue(layout),
    (address) => makeMemcachedClient(systemClock, address),
    OPTIONS,
  )
  const memory = makeTieredCache(systemClock, Math.random, fixedValue(MEMORY_LAYOUT), () =>
    makeMemoryNode(systemClock, { bytesMax: 2 ** 26 }),
  )
  const [rawHeads, rawLarge] = [await openRaw(main, keysOf('l', 0)), await openRaw(large, keysOf('b', 0))]
  try {
    await fill(groupClient, keysOf('l', 0), HEAD_BYTES)
    await fill(mainClient, keysOf('l', 0), HEAD_BYTES)
    await fill(largeClient, keysOf('b', 0), LARGE_BYTES)
    await memory.getMany(keysOf('l', 0), loadHeads)
    await rawHeads.measure()
    await rawLarge.measure()
    const fresh = (name: string, client?: NodeClient): Scenario => ({
      name,
      limit: 'bare socket, between fills',
      prepare: async (round) => client && fill(client, keysOf(name, round), HEAD_BYTES),
      run: (round) => readAll(cache, keysOf(name, round), client === undefined),
    })
    const bare: Scenario = { name: 'bare socket', run: rawHeads.read }
    const hits: Scenario[] = [
      bare,
      { name: 'client', limit: 'bare socket', run: () => mainClient.getMany(keysOf('l', 0)) },
      { name: 'hits of L1', limit: 'bare socket', run: () => readAll(cache, keysOf('l', 0), false) },
      { name: 'hits of memory', limit: 'bare socket', run: () => readAll(memory, keysOf('l', 0), false) },
      { name: 'bare socket, 800 bytes', run: rawLarge.read },
      { name: 'client, 800 bytes', limit: 'bare socket, 800 bytes', run: () => largeClient.getMany(keysOf('b', 0)) },
    ]
    const fills: Scenario[] = [
      { ...bare, name: 'bare socket, between fills' },
      fresh('hits of Main, filling L1', mainClient),
      fresh('hits of Backup, filling Main and L1', backupClient),
      fresh('loads, filling all'),
    ]
    const settle = async (): Promise<void> => {
      for (const client of clients) await client.check()
    }
    const rounds = quick ? 30 : 150
    progress(`${rounds} rounds of hits`)
    const measures = await measure(hits, 2 * rounds, settle)
    // Apart: their garbage would be collected in the time of the others.
    progress(`${rounds} rounds of fills`)
    measures.push(...(await measure(fills, rounds, settle)))
    const wrong = Object.values(cache.figures().nodes).filter(({ opened }) => opened > 0).length
    return [...measures, { metric: 'nodes that failed meanwhile', value: wrong, unit: '', target: 0, atMost: true }]
  } finally {
    rawHeads.socket.destroy()
    rawLarge.socket.destroy()
    await Promise.all([cache.stop(), memory.stop(), ...clients.map((client) => client.stop())])
    await stop()
  }
}

const keysOf = (name: string, round: number): string[] =>
  Array.from({ length: HEADS }, (_, at) => `h${name.replaceAll(/\W/g, '')}${round}:${1_000_000 + at}`)

const loadHeads = async (keys: readonly string[]): Promise<Stamped[]> =>
  keys.map(() => ({ value: Buffer.alloc(HEAD_BYTES, 'h'), version: 1 }))

async function fill(client: NodeClient, keys: readonly string[], bytes: number): Promise<void> {
  for (const key of keys) client.setQuietly(key, { value: Buffer.alloc(bytes, 'h'), version: 1 }, ENDS_AT)
  await client.check()
}

async function readAll(cache: TieredCache, keys: readonly string[], mayLoad: boolean): Promise<void> {
  const values = await cache.getMany(keys, (missing) => {
    if (!mayLoad) throw new Error(`${missing.length} heads are in no pool: the nodes need more memory`)
    return loadHeads(missing)
  })
  if (values.some((each) => each === undefined)) throw new Error('a head is missing')
}

/** The same command through a bare socket. The answer is not parsed, only its length is known. */
async function openRaw(address: string, keys: readonly string[]) {
  const [host = '', port = ''] = address.split(':')
  const socket: Socket = connect({ host, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  const request = `gets ${keys.join(' ')}\r\n`
  let expected = 0

  const exchange = (isWhole: (bytes: number, last: Buffer) => boolean): Promise<number> =>
    new Promise((resolve) => {
      let bytes = 0
      const onData = (chunk: Buffer): void => {
        bytes += chunk.length
        if (!isWhole(bytes, chunk)) return
        socket.off('data', onData)
        resolve(bytes)
      }
      socket.on('data', onData)
      socket.write(request)
    })

  return {
    socket,
    async measure() {
      expected = await exchange((_, last) => last.toString('latin1').endsWith('END\r\n'))
      if (expected < HEADS * (HEAD_BYTES + STAMP_BYTES)) throw new Error('the bare socket misses heads')
    },
    read: () => exchange((bytes) => bytes >= expected),
  }
}

async function measure(scenarios: readonly Scenario[], rounds: number, settle: () => Promise<void>): Promise<Measure[]> {
  const times = new Map(scenarios.map(({ name }) => [name, { ms: [] as number[], cpu: [] as number[] }]))
  for (let round = 0; round < rounds + WARM_UP_ROUNDS; round++) {
    for (const { name, prepare, run } of scenarios) {
      await prepare?.(round)
      await settle()
      const [cpuBefore, begun] = [process.cpuUsage(), performance.now()]
      await run(round)
      const ms = performance.now() - begun
      // Quiet writes leave after the answer.
      await new Promise((resolve) => setImmediate(resolve))
      const { user, system } = process.cpuUsage(cpuBefore)
      if (round < WARM_UP_ROUNDS) continue
      times.get(name)?.ms.push(ms)
      times.get(name)?.cpu.push((user + system) / 1_000)
    }
  }
  return scenarios.flatMap(({ name, limit }) => {
    const own = times.get(name)
    const other = limit === undefined ? undefined : times.get(limit)
    const rows: Measure[] = [
      { metric: `${name}: median`, value: median(own?.ms), unit: 'ms' },
      { metric: `${name}: CPU`, value: median(own?.cpu), unit: 'ms' },
    ]
    if (other !== undefined) rows.push({ metric: `${name} : ${limit}`, value: median(own?.ms) / median(other.ms), unit: 'ratio' })
    return rows
  })
}

function median(values: readonly number[] = []): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
