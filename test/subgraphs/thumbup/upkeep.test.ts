import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { TidemarkError } from '../../../core/errors.ts'
import type { ThumbupJob } from '../../../subgraphs/thumbup/persist/job.ts'
import { openMarkedStores, serveThumbup, thumbupConfig, viewerOf, type MarkedStores, type ServedThumbup } from './marked-stores.ts'
import { until } from '../../../harness/until.ts'

const DAY = 86_400_000

describe('the job of thumbup', () => {
  let stores: MarkedStores
  let served: ServedThumbup
  let job: ThumbupJob
  beforeEach(async () => {
    stores = openMarkedStores({ records: 'lmdb' })
    const thumbup = { flushAgeMaxMs: 5, windowMs: 20, sweepAfterMs: 60_000, purgeEveryMs: 20, reconcileEveryMs: 5 }
    served = serveThumbup(stores, thumbupConfig({ thumbup: { ...thumbup, archiveAfterDays: 1, tombstoneMs: 60_000 } }))
    job = await served.subgraph.startJob()
  })
  afterEach(async () => {
    await served.stop()
    await job.stop()
    await stores.close()
  })

  const mark = async (viewer: string, id: string, mark: string, markedAt = Date.now()) =>
    (await served.subgraph.service.mark(viewerOf(viewer), [{ business: 'video', id, mark, markedAt }], new Set()))[0]
  const settled = () => until('everything is persisted', async () => (await stores.plain.hot.countDirtyMarks()) === 0)
  const counts = async (oid: string) => (await stores.plain.records.getCountsMany([{ business: 1, oid }]))[0]

  test('archives old marks, and their undoing stays exact', async () => {
    await mark('1', 'a', 'LIKE', Date.now() - 2 * DAY)
    await mark('2', 'a', 'LIKE')
    await settled()
    await until('the old one is archived', () => job.figures().archived >= 1)
    expect(await stores.plain.records.measureMarks()).toMatchObject({ recent: 1, archived: 1 })
    expect(await mark('1', 'a', 'NONE')).toMatchObject({ outcome: 'ACCEPTED', old: 'LIKE' })
    await settled()
    expect(await counts('a')).toMatchObject({ likes: 1 })
    expect(await stores.plain.records.recount([{ business: 1, oid: 'a' }])).toEqual([])
  })

  test('removes marks undone long ago from both stores, and nothing else', async () => {
    const long = Date.now() - 120_000
    await mark('1', 'a', 'LIKE', long)
    await mark('1', 'a', 'NONE', long + 1)
    await mark('1', 'b', 'LIKE', long)
    await mark('1', 'c', 'NONE')
    await settled()
    const keys = ['a', 'b', 'c'].map((oid) => ({ viewer: '1', business: 1, oid }))
    await until('it is forgotten', async () => (await stores.plain.records.getMarkMany(keys))[0] === undefined)
    expect(await stores.plain.records.getMarkMany(keys)).toMatchObject([undefined, { mark: 'LIKE' }, { mark: 'NONE' }])
    await until('the hot store has forgotten', async () => (await stores.plain.hot.readDirtyMarks(keys))[0]?.record === undefined)
    expect((await stores.plain.hot.readDirtyMarks(keys)).map(({ record }) => record?.mark)).toEqual([undefined, 'LIKE', 'NONE'])
  })

  test('recounts everything repeatedly, and finds no drift', async () => {
    for (let at = 0; at < 30; at++) await mark(String(at), `s${at % 10}`, at % 3 === 0 ? 'DISLIKE' : 'LIKE')
    await settled()
    const { walks } = job.figures()
    await until('all of it was walked', () => job.figures().walks >= walks + 2)
    expect(job.figures()).toMatchObject({ drift: 0 })
    expect(job.figures().reconciled).toBeGreaterThanOrEqual(10)
    expect(served.errors).toEqual([])
  })

  test('a subject that cannot be recounted is reported and skipped, and does not block the walk', async () => {
    const { recount } = stores.stores.records
    stores.stores.records.recount = async (subjects) => {
      if (subjects.some(({ oid }) => oid === 'large')) throw new TidemarkError('RECORD_STORE_UNAVAILABLE', 'it took too long')
      return recount(subjects)
    }
    for (const id of ['a', 'large', 'z']) await mark('1', id, 'LIKE')
    await settled()
    const { walks } = job.figures()
    await until('all of it was walked', () => job.figures().walks >= walks + 2)
    expect(job.figures().unreconciled).toBeGreaterThanOrEqual(1)
    expect(served.errors.map(String).filter((error) => error.includes('"large"'))).not.toEqual([])
    expect(served.errors.map(String).filter((error) => error.includes('"a"'))).toEqual([])
  })

  test('with the record store down the walk waits and skips nothing', async () => {
    for (const id of ['a', 'b']) await mark('1', id, 'LIKE')
    await settled()
    stores.refuse('records.recount', 'RECORD_STORE_UNAVAILABLE')
    stores.refuse('records.check', 'RECORD_STORE_UNAVAILABLE')
    const tries = stores.count('records.recount')
    await until('it was tried some times', () => stores.count('records.recount') >= tries + 4)
    const { walks } = job.figures()
    stores.refuse('records.recount', undefined)
    stores.refuse('records.check', undefined)
    await until('all of it was walked', () => job.figures().walks >= walks + 2)
    expect(job.figures()).toMatchObject({ unreconciled: 0, drift: 0 })
  })

  test('gives a cache that lost a refresh the newer counts', async () => {
    await mark('1', 'a', 'LIKE')
    await settled()
    const key = { viewer: '2', business: 1, oid: 'a' }
    // As if another process had died right after its transaction, and a process without this cache had published its outbox.
    const { changes } = await stores.plain.records.applyMarks([{ key, record: { mark: 'LIKE', markedAt: 5, version: 5 } }], [])
    await stores.plain.records.dropOutbox([changes?.number ?? 0])
    await until('the cache has it', async () => (await stores.plain.cache.getCountsMany([key]))[0]?.likes === 2)
    // Counted after the cache has accepted it.
    await until('it was counted', () => job.figures().cacheRefreshed > 0)
    expect(job.figures().cacheRefreshed).toBe(1)
  })
})
