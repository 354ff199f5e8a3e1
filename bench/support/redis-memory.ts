/**
 * How much memory does one progress record take in Redis? `MEMORY USAGE` measures the keys that the adapter writes for viewers
 * with timelines of different lengths, clean (persisted) and dirty.
 *
 *     node bench/support/redis-memory.ts redis://127.0.0.1:6379
 *
 * It writes under its own prefix and removes these keys at the end.
 *
 * The two printed settings are the lengths up to which a timeline stays compact. Every write to a compact timeline scans it. Redis'
 * defaults of 512 and 128 are a good compromise. With 1024, a thousand entries take 62 bytes each in place of 183, but writes are
 * three times slower, because the dirty marks of a region become a compact list as well.
 */
import { Redis } from 'ioredis'
import { rankOf } from '../../subgraphs/history/model/merge.ts'
import { makeLayout, packMember } from '../../subgraphs/history/stores/redis/keys.ts'
import { openRedisHotStore } from '../../subgraphs/history/stores/redis/hot-store.ts'

const [url] = process.argv.slice(2)
if (url === undefined) {
  console.error('usage: node bench/support/redis-memory.ts redis://host:port')
  process.exit(2)
}

const PREFIX = `bench-memory-${process.pid}`
const REGIONS = 1
const TIMELINE_CAP = 100_000
const store = openRedisHotStore({ urls: [url], regions: REGIONS, prefix: PREFIX })
await store.check()
const redis = new Redis(url)
const layout = makeLayout(PREFIX, REGIONS)

const memory = async (key: string): Promise<number> => Number((await redis.call('MEMORY', 'USAGE', key, 'SAMPLES', '0')) ?? 0)

async function measure(entries: number, device: string, oidOf: (index: number) => string): Promise<string> {
  const viewer = String(1_000_000_000 + entries)
  const now = Date.now()
  const writes = Array.from({ length: entries }, (_, index) => {
    const record = {
      viewedAt: now - index * 60_000,
      since: 0,
      version: 0,
      position: 754_000,
      duration: 1_320_000,
      device,
      finished: false,
      deleted: false,
    }
    return {
      ...{ viewer, business: 1, oid: oidOf(index), decisive: true },
      record: { ...record, rank: rankOf('newest', { ...record, glance: false }) },
    }
  })
  const outcomes = await store.putProgress(writes, { now, timelineCap: TIMELINE_CAP })
  const dirty = await memory(layout.dirty(0))
  const marks = outcomes.flatMap((outcome, index) => {
    const { oid } = writes[index] as (typeof writes)[number]
    return outcome.status === 'written' ? [{ key: { viewer, business: 1, oid }, version: outcome.record.version }] : []
  })
  await store.clearDirty(marks, TIMELINE_CAP)
  const keys = [layout.contents(0, viewer, 1), layout.timeline(0, viewer, 1)]
  const [contents, timeline] = await Promise.all(keys.map(memory))
  const encodings = await Promise.all(keys.map((key) => redis.object('ENCODING', key)))
  await redis.del(...keys)
  const total = (contents ?? 0) + (timeline ?? 0)
  const cells = [
    entries,
    device || 'none',
    contents,
    timeline,
    encodings.join('/'),
    (total / entries).toFixed(1),
    (dirty / entries).toFixed(1),
  ]
  return cells.map((cell, at) => String(cell).padEnd(COLUMNS[at]?.[1] ?? 0)).join('')
}

const COLUMNS: [string, number][] = [
  ['entries', 9],
  ['device', 9],
  ['contents', 10],
  ['timeline', 10],
  ['encodings', 22],
  ['bytes per record', 18],
  ['more while dirty', 16],
]

const settings = await redis.config('GET', 'hash-max-listpack-entries', 'zset-max-listpack-entries')
console.log(`${String(settings)}; a dirty mark's member takes ${packMember({ viewer: '1', business: 1, oid: '1' }).length} bytes`)
console.log(COLUMNS.map(([title, width]) => title.padEnd(width)).join(''))
for (const entries of [1, 10, 50, 128, 200, 500, 1_000])
  console.log(await measure(entries, 'phone', (index) => String(170_000_000_000 + index)))
console.log(await measure(50, '', (index) => String(index)))
console.log(await measure(50, 'living-room-tv', (index) => `BV1xx411c7m${String(index).padStart(2, '0')}`))
await redis.del(layout.version(0), layout.dirty(0), layout.meta)
await store.close()
redis.disconnect()
