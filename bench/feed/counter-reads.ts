/** Memory and reads of counters in Redis, beside one key per counter in the same server. */
import { Redis } from 'ioredis'
import { seededRandom, randomBelow } from '../../core/random.ts'
import { startRedis } from '../../harness/deployment/redis-servers.ts'
import { connect } from '../../stores/redis/connection.ts'
import type { Counts } from '../../subgraphs/feed/model/counts.ts'
import { postIdOf, tickAfter } from '../../subgraphs/feed/packed/post-id.ts'
import { openRedisCounterStore } from '../../subgraphs/feed/stores/redis/counters/counter-store.ts'
import type { Measure } from '../support/report.ts'
import { BATCH, BUSINESS, REGIONS, SCHEMAS } from './counted-events.ts'

const NAMES = ['repost', 'comment', 'like', 'read'] as const
const BYTES_MAX = 32
const RATIO_MIN = 3
const COMMAND_MAX_MS = 1
/** Subjects of a read: those of one page, and those of the pages that concurrent requests ask for together. */
const READ_SIZES = [20, 100, 500]
const KEY_PREFIX = 'count'
const ROUNDS = 6
const LANES = 4

type Row = { id: string; counts: Counts }

export async function measureReads(quick: boolean, progress: (text: string) => void): Promise<Measure[]> {
  const servers = await startRedis()
  const admin = new Redis(servers.urls[0] as string)
  const store = openRedisCounterStore(SCHEMAS, { urls: servers.urls, regions: REGIONS })
  const plain = connect({ urls: servers.urls })
  try {
    const rows = makeRows(quick ? 50_000 : 300_000)
    progress(`filling ${rows.length} posts, in blocks and as one key per counter`)
    const before = await usedMemory(admin)
    for (let at = 0; at < rows.length; at += 5_000) {
      const some = rows.slice(at, at + 5_000)
      await store.fillTotals(some.map(({ id, counts }) => ({ subject: { business: BUSINESS, oid: id }, counts, version: 0 })))
    }
    const between = await usedMemory(admin)
    for (let at = 0; at < rows.length; at += 1_000) {
      const pairs = rows
        .slice(at, at + 1_000)
        .flatMap(({ id, counts }) => NAMES.map((name) => [keyOf(id, name), counts[name] ?? 0] as const))
      await plain.send([{ name: 'mset', args: pairs.flat() }])
    }
    const after = await usedMemory(admin)
    const [inBlocks, inKeys] = [await bytesOf(admin, 'tm:*'), await bytesOf(admin, `${KEY_PREFIX}:*`)]
    const measures: Measure[] = [
      {
        metric: 'MEMORY USAGE of a post with four counters',
        value: inBlocks / rows.length,
        unit: 'bytes',
        target: BYTES_MAX,
        atMost: true,
      },
      { metric: 'the same, one key per counter', value: inKeys / rows.length, unit: 'bytes' },
      { metric: 'used_memory of a post with four counters', value: (between - before) / rows.length, unit: 'bytes' },
      { metric: 'the same, one key per counter', value: (after - between) / rows.length, unit: 'bytes' },
    ]
    const namesOf = (some: readonly Row[]): string[] => some.flatMap(({ id }) => NAMES.map((name) => keyOf(id, name)))
    const countsIn = (values: readonly unknown[]): Counts[] =>
      Array.from({ length: values.length / 4 }, (_, at) =>
        Object.fromEntries(NAMES.map((name, place) => [name, Number(values[4 * at + place])])),
      )
    const readers: Reader[] = [
      { name: 'blocks', read: (some) => store.getMany(some.map(({ id }) => ({ business: BUSINESS, oid: id }))) },
      {
        name: 'a GET per counter',
        read: async (some) => countsIn(await plain.send(namesOf(some).map((key) => ({ name: 'get', args: [key] })))),
      },
      {
        name: 'MGET of all counters',
        async read(some) {
          const [values] = await plain.send([{ name: 'mget', args: namesOf(some) }])
          return countsIn(values as unknown[])
        },
      },
    ]
    for (const size of READ_SIZES) {
      progress(`reading ${size} posts at once`)
      const [blocks, gets, mget] = (await inTurn(admin, readers, rows, size, quick ? 250 : 1_500)) as [Speed, Speed, Speed]
      const title = `${size} posts at once`
      measures.push(
        { metric: `${title}: blocks`, value: blocks.perSecond, unit: 'posts per second' },
        {
          metric: `${title}: blocks : a GET per counter, in one round trip`,
          value: blocks.perSecond / gets.perSecond,
          unit: '',
          target: RATIO_MIN,
        },
        { metric: `${title}: blocks : one MGET of all counters`, value: blocks.perSecond / mget.perSecond, unit: '' },
        { metric: `${title}: blocks, time of Redis`, value: blocks.redisUs, unit: 'us per post' },
        { metric: `${title}: one MGET of all counters : blocks, time of Redis`, value: mget.redisUs / blocks.redisUs, unit: '' },
      )
    }
    return measures
  } finally {
    admin.disconnect()
    plain.close()
    await store.close()
    await servers.stop()
  }
}

/** Batches of 500 events that all fall into one region: the most work that a script can have. */
export async function measureScripts(quick: boolean, progress: (text: string) => void): Promise<Measure[]> {
  const servers = await startRedis()
  const admin = new Redis(servers.urls[0] as string)
  const store = openRedisCounterStore(SCHEMAS, { urls: servers.urls, regions: 1 })
  try {
    const batches = quick ? 200 : 4_000
    progress(`counting ${batches} batches of ${BATCH} events in one region`)
    const subjects = Array.from({ length: 20_000 }, (_, at) => ({
      business: BUSINESS,
      oid: postIdOf(tickAfter(0, 1_790_000_000_000 + at), 0),
    }))
    const bases = subjects.map((subject) => ({ subject, counts: { repost: 0, comment: 0, like: 0, read: 0 }, version: 0 }))
    for (let at = 0; at < bases.length; at += 1_000) await store.fillTotals(bases.slice(at, at + 1_000))
    await admin.config('SET', 'latency-tracking-info-percentiles', '50 99 99.9 100')
    await admin.config('RESETSTAT')
    const random = seededRandom(3)
    const begun = performance.now()
    for (let batch = 0; batch < batches; batch++) {
      const events = Array.from({ length: BATCH }, (_, at) => {
        const subject = subjects[randomBelow(random, subjects.length)] as (typeof subjects)[number]
        return { id: `${batch}-${at}`, subject, counter: NAMES[at % 4] as string, delta: 1 }
      })
      await store.adjust(events, Date.now())
    }
    const perSecond = (batches * BATCH * 1_000) / (performance.now() - begun)
    const found = /latency_percentiles_usec_evalsha:p50=([\d.]+),p99=([\d.]+),p99.9=([\d.]+),p100=([\d.]+)/.exec(
      await admin.info('latencystats'),
    )
    const [p50 = NaN, p99 = NaN, p999 = NaN, longest = NaN] = (found ?? []).slice(1).map((us) => Number(us) / 1_000)
    return [
      { metric: 'script for events of one region, p50', value: p50, unit: 'ms' },
      { metric: 'script for events of one region, p99', value: p99, unit: 'ms', target: COMMAND_MAX_MS, atMost: true },
      { metric: 'script for events of one region, p99.9', value: p999, unit: 'ms' },
      { metric: 'script for events of one region, longest (with the pauses of the machine)', value: longest, unit: 'ms' },
      { metric: 'events counted one batch after another', value: perSecond, unit: 'per second' },
    ]
  } finally {
    admin.disconnect()
    await store.close()
    await servers.stop()
  }
}

/** Posts of all regions with counts as large as those of popular posts. */
function makeRows(count: number): Row[] {
  const random = seededRandom(7)
  let tick = 0
  return Array.from({ length: count }, (_, at) => {
    tick = tickAfter(tick, 1_790_000_000_000 + at * 10)
    const counts = { repost: randomBelow(random, 100_000), comment: randomBelow(random, 100_000), like: randomBelow(random, 1_000_000) }
    return { id: postIdOf(tick, randomBelow(random, REGIONS)), counts: { ...counts, read: randomBelow(random, 100_000_000) } }
  })
}

function keyOf(id: string, name: string): string {
  return `${KEY_PREFIX}:${id}:${name}`
}

async function usedMemory(admin: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1])
}

async function bytesOf(admin: Redis, pattern: string): Promise<number> {
  let [cursor, sum] = ['0', 0]
  do {
    const [next, keys] = await admin.scan(cursor, 'MATCH', pattern, 'COUNT', 5_000)
    cursor = next
    const pipeline = admin.pipeline()
    for (const key of keys) pipeline.memory('USAGE', key, 'SAMPLES', 0)
    for (const [, bytes] of (await pipeline.exec()) ?? []) sum += Number(bytes)
  } while (cursor !== '0')
  return sum
}

type Reader = { name: string; read(some: readonly Row[]): Promise<(Counts | undefined)[]> }
type Speed = { perSecond: number; redisUs: number }

/** The speed of each reader, in alternating rounds. Every answer is checked once. */
async function inTurn(admin: Redis, readers: readonly Reader[], rows: readonly Row[], size: number, roundMs: number): Promise<Speed[]> {
  const sums = readers.map(() => ({ posts: 0, ms: 0, redisUs: 0 }))
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [which, { name, read }] of readers.entries()) {
      const random = seededRandom(round)
      const pages = Array.from({ length: 200 }, () => Array.from({ length: size }, () => rows[randomBelow(random, rows.length)] as Row))
      const [first = []] = pages
      if (JSON.stringify(await read(first)) !== JSON.stringify(first.map(({ counts }) => counts)))
        throw new Error(`${name} has wrong counts`)
      await admin.config('RESETSTAT')
      const begun = performance.now()
      let made = 0
      await Promise.all(
        Array.from({ length: LANES }, async () => {
          while (performance.now() - begun < roundMs) await read(pages[made++ % pages.length] as Row[])
        }),
      )
      const ms = performance.now() - begun
      const sum = sums[which] as (typeof sums)[number]
      // The first round warms up.
      if (round === 0) continue
      sum.posts += made * size
      sum.ms += ms
      sum.redisUs += Array.from((await admin.info('commandstats')).matchAll(/cmdstat_m?get:calls=\d+,usec=(\d+)/g), ([, us]) =>
        Number(us),
      ).reduce((all, us) => all + us, 0)
    }
  }
  return sums.map(({ posts, ms, redisUs }) => ({ perSecond: (posts * 1_000) / ms, redisUs: redisUs / posts }))
}
