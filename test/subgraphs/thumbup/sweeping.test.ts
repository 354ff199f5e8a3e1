/** The leftovers of a business with its own stores in the shared stores: dirty marks, and entries of the outbox. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { makePublisher } from '../../../subgraphs/thumbup/persist/outbox.ts'
import { openMarkedStores, serveThumbup, thumbupConfig, type MarkedStores } from './marked-stores.ts'
import { until } from '../../../harness/until.ts'

const KEYS_MAX = 3
const ARTICLE = 2

let [common, own]: MarkedStores[] = []
beforeEach(() => {
  common = openMarkedStores({ records: 'lmdb' })
  own = openMarkedStores({ records: 'lmdb' })
})
afterEach(() => Promise.all([common?.close(), own?.close()]))

it('unpersistable marks of another business are skipped page by page, and ours behind them are swept', async () => {
  const { hot } = common!.plain
  const put = (business: number, oid: string, now: number) =>
    hot.putMarks([{ viewer: '7', business, oid, mark: 'LIKE', markedAt: 5, blind: true }], { now, cap: 1_000 })
  for (let at = 0; at < 40; at++) await put(ARTICLE, `theirs${at}`, 5 + Math.floor(at / 10))
  for (let at = 0; at < 5; at++) await put(1, `ours${at}`, 100)
  const { listDirtyMarks } = common!.stores.hot
  const asked: number[] = []
  common!.stores.hot.listDirtyMarks = (regions, dirtyBefore, limit, walk) => {
    asked.push(limit)
    return listDirtyMarks(regions, dirtyBefore, limit, walk)
  }
  const thumbup = { flushAgeMaxMs: 5, windowMs: 20, sweepAfterMs: 200, sweepEveryMs: 20, persistKeysMax: KEYS_MAX }
  const served = serveThumbup(common!, thumbupConfig({ thumbup }), { tenants: new Map([[ARTICLE, own!.stores]]) })
  const job = await served.subgraph.startJob()
  await until('ours are persisted', async () => (await hot.countDirtyMarks()) === 40)
  expect((await common!.plain.records.measureMarks()).recent).toBe(5)
  expect(Math.max(...asked)).toBe(KEYS_MAX)
  await job.stop()
  await served.stop()
})

it('an outbox entry of two businesses, one of which got its own stores, is published once, and only by its owner', async () => {
  const { plain, stores } = common!
  const row = (business: number) => ({
    key: { viewer: '7', business, oid: 'a' },
    record: { mark: 'LIKE' as const, markedAt: 5, version: 5 },
  })
  await plain.records.applyMarks([row(1), row(ARTICLE)], [])
  const subjects = [1, ARTICLE].map((business) => ({ business, oid: 'a' }))

  const theirs = makePublisher(stores, (business) => business === ARTICLE, true)
  for (let round = 0; round < 3; round++) expect(await theirs(() => true)).toBe(0)
  expect(await plain.records.listOutboxNumbers(10)).toHaveLength(1)

  const ours = makePublisher(stores, (business) => business !== ARTICLE)
  expect([await ours(() => true), await ours(() => true), await ours(() => true)]).toEqual([0, 1, 0])
  expect(await plain.records.listOutboxNumbers(10)).toEqual([])
  expect((await plain.cache.getCountsMany(subjects)).map((counts) => counts?.likes)).toEqual([1, undefined])
  expect(common!.count('events.appendEvents')).toBe(1)
})
