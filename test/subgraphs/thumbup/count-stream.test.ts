import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { seededRandom } from '../../../core/random.ts'
import { makeCountReads, type CountReads } from '../../../loaders/counts.ts'
import type { CountCache } from '../../../subgraphs/thumbup/stores/count-cache.ts'
import { makeCountFollowers } from '../../../subgraphs/thumbup/read/count-followers.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'
import { until } from '../../../harness/until.ts'
import { openMarkedStores, type MarkedStores } from './marked-stores.ts'
import type { CountedSubject } from '../../../core/domain.ts'

const WINDOW_MS = 20
const subjects = Array.from({ length: 200 }, (_, at) => ({ business: 1, oid: `s${at}` }))
const [hot, other] = subjects as [(typeof subjects)[0], (typeof subjects)[0]]
const counted = (version: number, { business, oid } = hot): CountedSubject => ({
  business,
  oid,
  counts: { likes: version, dislikes: 0, version },
})

let stores: MarkedStores
let reads: CountReads
let stream: AsyncIterableIterator<readonly CountedSubject[]>
/** Reports a gap for each subject, as a reopened connection does. `tell` reports a change. */
let gap: (of?: readonly unknown[]) => void
let tell: (changed: CountedSubject) => void
beforeEach(async () => {
  stores = openMarkedStores()
  const { cache, records } = stores.stores
  const options = { hotTtlMs: 60_000, hotBytesMax: 65_536, isCacheDown: () => false }
  reads = makeCountReads(makeSteppedClock(), seededRandom(1), cache, records, options)
  const cacheThere: Pick<CountCache, 'followCounts'> = {
    followCounts(listener, onGap) {
      tell = listener
      gap = (of = subjects) => of.forEach(() => onGap?.())
      return { add: () => Promise.resolve(), remove() {}, stop() {} }
    },
  }
  stream = await makeCountFollowers(systemClock, cacheThere, reads, WINDOW_MS).open(subjects, new Set())
})
afterEach(async () => {
  await stream.return?.()
  await stores.close()
})
const next = async () => (await stream.next()).value

test('a missed change is read from the stores, not from the local copy of a hot subject', async () => {
  await stores.plain.cache.putCounts([counted(1)])
  await until('it is hot, and kept', async () => {
    await reads.getMany([hot], new Set())
    return reads.mayBeOld(hot)
  })
  await reads.getMany([hot], new Set())
  await stores.plain.cache.putCounts([counted(2)])
  expect(await reads.getMany([hot], new Set())).toEqual([counted(1).counts])
  gap([hot])
  expect(await next()).toEqual([counted(2)])
})

test('the gaps of all subjects after a lost connection are closed by one read', async () => {
  await stores.plain.cache.putCounts([counted(2), counted(3, other)])
  stores.calls.length = 0
  gap()
  expect(await next()).toEqual([counted(2), counted(3, other)])
  expect(stores.count('cache.getCountsMany')).toBe(1)
  await stores.plain.cache.putCounts([counted(4)])
  gap()
  expect(await next()).toEqual([counted(4)])
})

test('without an available store a gap stays open, and is closed when a store is back', async () => {
  await stores.plain.cache.putCounts([counted(2)])
  for (const name of ['cache', 'records'] as const) stores.set(name, 'down')
  gap()
  await until('it was tried', () => stores.count('records.getCountsMany') > 0)
  for (const name of ['cache', 'records'] as const) stores.set(name, 'up')
  expect(await next()).toEqual([counted(2)])
})

test('no older and no repeated version is delivered, from any source', async () => {
  await stores.plain.cache.putCounts([counted(3)])
  tell(counted(5))
  expect(await next()).toEqual([counted(5)])
  tell(counted(4))
  tell(counted(5))
  stores.calls.length = 0
  gap()
  await until('it was read', () => stores.count('cache.getCountsMany') > 0)
  tell(counted(1, other))
  expect(await next()).toEqual([counted(1, other)])
})
