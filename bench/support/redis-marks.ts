/**
 * How much memory does a mark take in Redis, and how fast is the adapter compared with raw commands? `MEMORY USAGE` measures the
 * keys that the adapter writes: viewers with different numbers of pending, persisted and undone likes, and cached counts. Then 50
 * states at a time are looked up, in turn with the same commands sent by ioredis alone.
 *
 *     node bench/support/redis-marks.ts redis://127.0.0.1:6379
 *
 * It writes under its own prefix and removes these keys at the end.
 */
import { Redis } from 'ioredis'
import { makeMarkLayout, packMarkMember } from '../../subgraphs/thumbup/stores/redis/keys.ts'
import { openRedisCountCache } from '../../subgraphs/thumbup/stores/redis/count-cache.ts'
import { openRedisMarkStore } from '../../subgraphs/thumbup/stores/redis/hot-store.ts'
import type { MarkWrite, ReadStart } from '../../subgraphs/thumbup/stores/hot-store.ts'

const [url] = process.argv.slice(2)
if (url === undefined) {
  console.error('usage: node bench/support/redis-marks.ts redis://host:port')
  process.exit(2)
}

const PREFIX = `bench-marks-${process.pid}`
const REGIONS = 1
const CAP = 100_000
const STATES = 50
const VIEWERS = 1_000
const LIKES = 200
const AT_ONCE = 16
const ROUND_MS = 2_000
const options = { urls: [url], regions: REGIONS, prefix: PREFIX }
const store = openRedisMarkStore(options)
const cache = openRedisCountCache(options)
await store.check()
const redis = new Redis(url)
const layout = makeMarkLayout(PREFIX, REGIONS)
const memory = async (key: string): Promise<number> => Number((await redis.call('MEMORY', 'USAGE', key, 'SAMPLES', '0')) ?? 0)
const oidOf = (index: number): string => String(170_000_000_000 + index)

async function fillEmpty(viewer: string): Promise<void> {
  const [{ asOf }] = (await store.beginReads([{ viewer, business: 1 }])) as [ReadStart]
  await store.fillMarks(viewer, 1, [], { cap: CAP, asOf, whole: true })
}

async function likeAll(viewer: string, count: number, mark: MarkWrite['mark'], now: number): Promise<void> {
  const writes = Array.from({ length: count }, (_, index) => ({
    viewer,
    business: 1,
    oid: oidOf(index),
    mark,
    markedAt: now - index * 1_000,
  }))
  for (let from = 0; from < count; from += 500) await store.putMarks(writes.slice(from, from + 500), { now, cap: CAP })
}

async function persistAll(viewer: string, count: number): Promise<void> {
  const keys = Array.from({ length: count }, (_, index) => ({ viewer, business: 1, oid: oidOf(index) }))
  const read = await store.readDirtyMarks(keys)
  await store.clearDirtyMarks(
    read.flatMap(({ key, record }) => (record === undefined ? [] : [{ key, version: record.version, record }])),
    CAP,
  )
}

async function measure(count: number): Promise<string[]> {
  const viewer = String(1_000_000_000 + count)
  const now = Date.now()
  const [likes, marks] = [layout.likes(0, viewer, 1), layout.marks(0, viewer, 1)]
  await fillEmpty(viewer)
  await likeAll(viewer, count, 'LIKE', now)
  const pending = (await memory(marks)) + (await memory(layout.dirty(0)))
  await persistAll(viewer, count)
  const encoding = String(await redis.object('ENCODING', likes))
  const clean = await memory(likes)
  const state = await memory(marks)
  await likeAll(viewer, count, 'NONE', now + 1_000_000)
  await persistAll(viewer, count)
  const undone = (await memory(marks)) + (await memory(layout.undone(0)))
  await redis.del(likes, marks, layout.undone(0))
  const each = (bytes: number): string => (bytes / count).toFixed(1)
  return [String(count), encoding, each(clean), String(state), each(pending - state), each(undone - state)]
}

function print(cells: readonly string[]): void {
  console.log(cells.map((cell) => cell.padEnd(20)).join(''))
}

/** Calls per second, with AT_ONCE in flight. */
async function rate(call: () => Promise<unknown>): Promise<number> {
  const end = performance.now() + ROUND_MS
  let calls = 0
  const caller = async (): Promise<void> => {
    while (performance.now() < end) {
      await call()
      calls += 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, caller))
  return (calls / ROUND_MS) * 1_000
}

console.log(`a dirty mark's member takes ${packMarkMember({ viewer: '1', business: 1, oid: oidOf(1) }).length} bytes`)
print(['likes', 'encoding', 'bytes per like', 'state', 'more while pending', 'per tombstone'])
for (const count of [1, 10, 50, 128, 200, 500, 1_000, 10_000]) print(await measure(count))

const subject = { business: 1, oid: oidOf(1) }
await cache.putCounts([{ ...subject, counts: { likes: 123_456, dislikes: 789, version: 124_245 } }])
const ofCount = await Promise.all([memory(layout.count(0, subject)), memory(layout.countVersion(0, subject))])
console.log(`a cached count takes ${ofCount[0]} bytes, its version ${ofCount[1]}`)

const viewers = Array.from({ length: VIEWERS }, (_, index) => String(index))
for (const viewer of viewers) {
  await fillEmpty(viewer)
  await likeAll(viewer, LIKES, 'LIKE', Date.now())
  await persistAll(viewer, LIKES)
}
const someone = (): string => viewers[Math.floor(Math.random() * VIEWERS)] as string
const some = (): string[] => Array.from({ length: STATES }, () => oidOf(Math.floor(Math.random() * LIKES * 2)))
const ours = (): Promise<unknown> => {
  const viewer = someone()
  return store.getMarkMany(some().map((oid) => ({ viewer, business: 1, oid })))
}
const raw = (): Promise<unknown> => {
  const viewer = someone()
  const oids = some()
  const keys = [layout.likes(0, viewer, 1), layout.dislikes(0, viewer, 1), layout.marks(0, viewer, 1)] as const
  return redis
    .pipeline()
    .zmscore(keys[0], ...oids)
    .zmscore(keys[1], ...oids)
    .hmget(keys[2], '', ...oids)
    .exec()
}
let moment = Date.now()
const writes = (): Promise<unknown> => {
  moment += 1
  const batch = Array.from({ length: 100 }, () => ({ viewer: someone(), business: 1, oid: oidOf(Math.floor(Math.random() * LIKES * 2)) }))
  return store.putMarks(
    batch.map((key, index) => ({ ...key, mark: index % 3 === 0 ? 'NONE' : 'LIKE', markedAt: moment })),
    { now: moment, cap: CAP },
  )
}
for (let round = 0; round < 3; round++) {
  const [adapter, commands] = [await rate(ours), await rate(raw)]
  const figures = `${Math.round(adapter * STATES)} states a second, raw pipelines ${Math.round(commands * STATES)}`
  console.log(`${STATES} states a call: ${figures}: ${(adapter / commands).toFixed(2)}`)
}
console.log(`batches of 100: ${Math.round((await rate(writes)) * 100)} marks a second`)

for (let cursor = '0'; ;) {
  const [next, keys] = await redis.scan(cursor, 'MATCH', `${PREFIX}*`, 'COUNT', 1_000)
  if (keys.length > 0) await redis.unlink(...keys)
  cursor = next
  if (next === '0') break
}
await store.close()
await cache.close()
redis.disconnect()
