/** Reads of a record store: the concurrency limit that follows its latency, and fair turns. Each test sets the latency of its store. */
import { expect, test } from 'vitest'
import { makeBreaker } from '../../../core/outage/breaker.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { seededRandom } from '../../../core/random.ts'
import { makeRecordReads, type RecordRead, type RecordReadsOptions } from '../../../core/outage/record-reads.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'

const CONNECTIONS = 8

type Given = RecordReadsOptions & { readsAtOnceMax?: number | undefined; isHotDown?: () => boolean }

/**
 * `load`: this number of concurrent reads, each repeated when it ends, for this time. A read takes `tookMs` of the number of reads under
 * way.
 */
function makeStore(given: Given = {}) {
  const { readsAtOnceMax = CONNECTIONS, isHotDown = () => false, ...options } = given
  const stepped = makeSteppedClock(10_000_000)
  let backMs = 0
  const clock = { ...stepped, now: () => stepped.now() - backMs }
  const breaker = makeBreaker(
    clock,
    'recordStore',
    () => Promise.resolve(),
    { checkEveryMs: 1_000 },
    () => undefined,
  )
  const atOnce = 'readsAtOnceMax' in given ? given.readsAtOnceMax : readsAtOnceMax
  const reads = makeRecordReads(clock, breaker, { readsAtOnceMax: atOnce }, options, isHotDown)
  let inStore = 0
  let most = 0

  async function work(tookMs: (inStore: number) => number): Promise<void> {
    inStore++
    most = Math.max(most, inStore)
    await new Promise<void>((resolve) => clock.after(tookMs(inStore), resolve))
    inStore--
  }

  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed++) {
      for (let turn = 0; turn < 10; turn++) await Promise.resolve()
      clock.advance(1)
    }
    for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  }

  async function load(callers: number, ms: number, tookMs: (inStore: number) => number): Promise<{ most: number; refused: number }> {
    let ended = false
    let refused = 0
    most = 0
    const calling = Array.from({ length: callers }, async () => {
      while (!ended) await reads.run(PAGE, () => work(tookMs)).catch(() => refused++)
    })
    await pass(ms)
    ended = true
    await pass(10_000)
    await Promise.all(calling)
    return { most, refused }
  }

  return { clock, breaker, reads, work, pass, load, setBack: (ms: number) => void (backMs = ms) }
}

const PAGE: RecordRead = { kind: 'page', size: 20, of: [{ business: 1 }], isPage: true }
const lookup = (business: number): RecordRead => ({ kind: 'lookup', size: 1, of: [{ business }] })

test('a healthy store serves all reads of any number of callers, with as many at once as it has connections', async () => {
  const store = makeStore()
  expect(await store.load(200, 1_000, () => 2)).toEqual({ most: CONNECTIONS, refused: 0 })
  expect(store.reads.figures()).toMatchObject({ limit: CONNECTIONS, underWay: 0, waiting: 0, refused: 0 })
})

test('a store in this process has no limit', async () => {
  const store = makeStore({ readsAtOnceMax: undefined })
  expect(await store.load(50, 50, () => 2)).toEqual({ most: 50, refused: 0 })
})

test('a distant store is not a slow one: as many reads of 80 ms as connections run at once', async () => {
  const store = makeStore()
  await store.load(100, 3_000, () => 80)
  expect(store.reads.figures().limit).toBe(CONNECTIONS)
})

test('a store with room for two reads gets three to six, for any number of connections', async () => {
  for (const readsAtOnceMax of [16, 64]) {
    const store = makeStore({ readsAtOnceMax })
    const limits = new Set<number>()
    const roomForTwo = (inStore: number) => {
      limits.add(store.reads.figures().limit)
      return 20 * Math.max(1, inStore / 2)
    }
    await store.load(50, 5_000, roomForTwo)
    // The store is warm now. More concurrent reads than it has room for only make each of them slower.
    limits.clear()
    const { most } = await store.load(50, 5_000, roomForTwo)
    // It is always busy, and its queue is short: six reads take three times as long as two, and are cut to three.
    expect([Math.min(...limits), Math.max(...limits), most]).toEqual([3, 6, 6])
  }
})

test('a store that becomes ten times slower gets one read at a time, and then as many as do not slow it further', async () => {
  const store = makeStore()
  await store.load(50, 2_000, () => 10)
  expect(store.reads.figures().limit).toBe(CONNECTIONS)
  const limits = new Set<number>()
  const slow = store.load(50, 8_000, (inStore) => {
    limits.add(store.reads.figures().limit)
    return 100 * inStore
  })
  await slow
  expect(Math.min(...limits)).toBe(1)
  // Each read slows the others, so the limit stays low.
  const { most } = await store.load(50, 8_000, (inStore) => 100 * inStore)
  expect(most).toBeLessThanOrEqual(4)
  // It is fast again, and gets its connections back.
  await store.load(50, 4_000, () => 10)
  expect(store.reads.figures().limit).toBe(CONNECTIONS)
})

for (const [name, slowShare, slowMs, least] of [
  ['a third of the reads need the disk', 0.3, 30, 700],
  ['four of five reads need the disk', 0.8, 30, 230],
] as const) {
  test(`a healthy store of which ${name} serves as many as it can`, async () => {
    const store = makeStore()
    const random = seededRandom(5)
    let made = 0
    const { refused } = await store.load(100, 5_000, () => {
      made++
      return random() < slowShare ? slowMs : 1
    })
    expect(refused).toBe(0)
    // With all connections busy it would be 8000 / (slowShare * slowMs + 1 - slowShare) per second.
    expect(made / 5).toBeGreaterThan(least)
  })
}

test('a healthy store with random latencies serves as many reads as it can', async () => {
  const store = makeStore()
  const random = seededRandom(5)
  let made = 0
  await store.load(100, 8_000, () => {
    made++
    return 1 + Math.round(-Math.log(1 - random()) * 20)
  })
  expect(made / 8).toBeGreaterThan(300)
})

test('reads that become slower at any concurrency get their connections back', async () => {
  const store = makeStore()
  await store.load(100, 1_000, () => 1)
  await store.load(100, 4_000, () => 60)
  expect(store.reads.figures().limit).toBe(CONNECTIONS)
})

test('a clock that is set back by an hour does not freeze the limit after a cut', async () => {
  const store = makeStore()
  await store.load(50, 2_000, () => 10)
  const slow = store.load(50, 4_000, (inStore) => 100 * inStore)
  await slow
  expect(store.reads.figures().limit).toBeLessThan(CONNECTIONS)
  store.setBack(3_600_000)
  await store.load(50, 4_000, () => 10)
  expect(store.reads.figures().limit).toBe(CONNECTIONS)
})

test('a read of a large batch does not count as slow because of its size', async () => {
  const store = makeStore()
  const calls: Promise<unknown>[] = []
  for (let round = 0; round < 200; round++) {
    for (let at = 0; at < CONNECTIONS; at++) {
      const size = at % 2 === 0 ? 1 : 1_000
      calls.push(store.reads.run({ kind: 'lookup', size }, () => store.work(() => (size === 1 ? 2 : 60))))
    }
    await store.pass(70)
  }
  await Promise.all(calls)
  expect(store.reads.figures()).toMatchObject({ limit: CONNECTIONS, refused: 0 })
})

test('a read without a turn in time is refused with advice', async () => {
  const store = makeStore({ recordWaitMaxMs: 500 })
  const held = Array.from({ length: CONNECTIONS }, () => store.reads.run(PAGE, () => store.work(() => 2_000)))
  const late = store.reads.run(PAGE, () => store.work(() => 1)).catch((error: unknown) => error)
  await store.pass(501)
  expect(await late).toMatchObject({
    code: 'RECORD_STORE_UNAVAILABLE',
    message: 'a read of the record store had no turn in 500 ms: try again',
  })
  expect(store.reads.figures()).toMatchObject({ refused: 1 + held.length - store.reads.figures().underWay })
  await store.pass(6_000)
  await Promise.allSettled(held)
})

test('while the hot store is down a read waits for its turn only briefly', async () => {
  const store = makeStore({ isHotDown: () => true })
  const held = Array.from({ length: CONNECTIONS }, () => store.reads.run(PAGE, () => store.work(() => 1_000)))
  const late = store.reads.run(PAGE, () => store.work(() => 1)).catch((error: unknown) => error)
  await store.pass(201)
  expect(await late).toMatchObject({ code: 'RECORD_STORE_UNAVAILABLE' })
  await store.pass(3_000)
  await Promise.allSettled(held)
})

test('beyond the limit of waiting reads the oldest of the longest lane is refused', async () => {
  const store = makeStore({ readsAtOnceMax: 1, recordReadsWaitingMax: 2 })
  const ended: string[] = []
  const run = (name: string, business: number) =>
    store.reads
      .run(lookup(business), () => store.work(() => 1))
      .then(
        () => ended.push(name),
        () => ended.push(`${name} refused`),
      )
  const all = [run('a0', 1), run('a1', 1), run('a2', 1), run('b1', 2)]
  await store.pass(20)
  await Promise.all(all)
  expect(ended).toEqual(['a1 refused', 'a0', 'a2', 'b1'])
})

test('the flood of one tenant delays a read of another by at most one turn, and its own lookups are not behind its pages', async () => {
  const store = makeStore({ readsAtOnceMax: 1 })
  const ended: string[] = []
  const run = (name: string, read: RecordRead) => store.reads.run(read, () => store.work(() => 1)).then(() => ended.push(name))
  const all = Array.from({ length: 500 }, () => run('flood', PAGE))
  all.push(run('another', lookup(2)), run('own lookup', lookup(1)))
  // A read for several tenants joins the lane with the earliest turn.
  all.push(
    store.reads
      .run({ kind: 'lookup', size: 2, of: [{ business: 1 }, { business: 3 }] }, () => store.work(() => 1))
      .then(() => ended.push('both')),
  )
  await store.pass(600)
  await Promise.all(all)
  expect(['another', 'own lookup', 'both'].map((name) => ended.indexOf(name))).toEqual([2, 3, 4])
  expect(store.reads.figures().refused).toBe(0)
})

test('with the store down, waiting reads are refused at once and nothing waits', async () => {
  const store = makeStore()
  let calls = 0
  const down = () => {
    calls++
    return Promise.reject(new TidemarkError('RECORD_STORE_UNAVAILABLE', 'gone'))
  }
  const reads = Array.from({ length: 100 }, () => store.reads.run(PAGE, down))
  await store.pass(5)
  const outcomes = await Promise.allSettled(reads)
  expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true)
  // The reads that began before the first of them failed.
  expect(calls).toBe(2)
  expect(store.reads.figures()).toMatchObject({ underWay: 0, waiting: 0, refused: 0 })
  store.breaker.stop()
})
