import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import type { StoreName } from '../../core/outage/degraded.ts'
import { seededRandom } from '../../core/random.ts'
import { makeCountReads, type CountReads } from '../../loaders/counts.ts'
import { openMarkedStores, type MarkedStores } from '../subgraphs/thumbup/marked-stores.ts'

let stores: MarkedStores
let reads: CountReads
beforeEach(() => {
  stores = openMarkedStores()
  const options = { hotTtlMs: 0, hotBytesMax: 65_536, isCacheDown: () => false }
  reads = makeCountReads(systemClock, seededRandom(1), stores.stores.cache, stores.stores.records, options)
})
afterEach(() => stores.close())

const subject = { business: 1, oid: 'a' }
const counted = (version: number) => ({ ...subject, counts: { likes: version, dislikes: 0, version } })

test('without an available store, a count learned late does not hide a newer one', async () => {
  reads.learn([counted(6)])
  reads.learn([counted(5)])
  stores.set('cache', 'down')
  stores.set('records', 'down')
  const without = new Set<StoreName>()
  expect(await reads.getMany([subject], without)).toEqual([counted(6).counts])
  expect(without).toEqual(new Set(['hotStore', 'recordStore']))
})

test('without an available store, the last value that was read is known, also after a read in the same second found nothing', async () => {
  const set = (to: 'up' | 'down') => (['cache', 'records'] as const).forEach((store) => stores.set(store, to))
  const read = () => reads.getMany([subject], new Set())
  await stores.stores.cache.putCounts([counted(7)])
  set('down')
  expect(await read()).toEqual([null])
  set('up')
  expect(await read()).toEqual([counted(7).counts])
  set('down')
  expect(await read()).toEqual([counted(7).counts])
})
