/** A damaged archive block of one viewer affects only that viewer. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BLOCK, kindRange, makeMarkShelf } from '../../../subgraphs/thumbup/stores/lmdb/records/keys.ts'
import { openMarkTables } from '../../../subgraphs/thumbup/stores/lmdb/records/tables.ts'
import type { ThumbupJob } from '../../../subgraphs/thumbup/persist/job.ts'
import { openMarkedStores, serveThumbup, thumbupConfig, viewerOf, type MarkedStores, type ServedThumbup } from './marked-stores.ts'
import { until } from '../../../harness/until.ts'

const DAY = 86_400_000
const READ = '{ subjects(business: "video", ids: ["a"]) { viewerMark } }'
const like = (viewer: string, business = 'video', id = 's') => ({ viewer, business, id, mark: 'LIKE' })

describe('a damaged block of one viewer', () => {
  let stores: MarkedStores
  let served: ServedThumbup
  let job: ThumbupJob | undefined
  beforeEach(async () => {
    stores = openMarkedStores({ records: 'lmdb' })
    const thumbup = { flushAgeMaxMs: 5, windowMs: 20, sweepAfterMs: 200, sweepEveryMs: 50, purgeEveryMs: 20, archiveAfterDays: 5 }
    served = serveThumbup(stores, thumbupConfig({ thumbup }))
    await archive('7', '8', '9')
  })
  afterEach(async () => {
    await served.stop()
    await job?.stop()
    job = undefined
    await stores.close()
  })

  async function archive(...viewers: string[]): Promise<void> {
    const markedAt = Date.now() - 10 * DAY
    const rows = viewers.map((viewer) => ({
      key: { viewer, business: 1, oid: 'a' },
      record: { mark: 'LIKE' as const, markedAt, version: 5 },
    }))
    await stores.plain.records.applyMarks(rows, [])
    await stores.plain.records.archiveMarks(Date.now() - 5 * DAY, 100)
  }
  /** Flips one bit. A second call restores it. */
  async function flip(viewer: string): Promise<void> {
    const { likes } = openMarkTables(stores.environment)
    await stores.environment.write(() => {
      const found = [...likes.getRange(kindRange(makeMarkShelf(1, viewer), BLOCK))].map(({ key, value }) => [
        Buffer.from(key),
        Buffer.from(value),
      ])
      expect(found).toHaveLength(1)
      for (const [key, value] of found as [Buffer, Buffer][]) {
        value.writeUInt8(value.readUInt8(value.length - 1) ^ 1, value.length - 1)
        void likes.put(key, value)
      }
    })
  }
  const mark = (...inputs: ReturnType<typeof like>[]) => served.subgraph.service.mark(viewerOf('svc', 'marks:write-any'), inputs, new Set())
  const storedOf = async (viewer: string, business = 1, oid = 's') =>
    (await stores.plain.records.getMarkMany([{ viewer, business, oid }]))[0]?.mark

  it('blocks no other marks from being persisted, by flush or sweep, and those of its viewer wait until it is restored', async () => {
    await served.ask(READ, viewerOf('7'))
    await flip('7')
    const others = Array.from({ length: 20 }, (_, at) => like(String(100 + at), at % 2 === 0 ? 'video' : 'article'))
    expect((await mark(like('7'), ...others)).map(({ outcome }) => outcome)).toEqual(Array(21).fill('ACCEPTED'))
    job = await served.subgraph.startJob()
    await until('all others are persisted', async () => (await stores.plain.hot.countDirtyMarks()) === 1)
    expect([await storedOf('100', 1), await storedOf('119', 2)]).toEqual(['LIKE', 'LIKE'])
    await mark(like('999', 'article', 'late'))
    await until('so is one that comes later', async () => (await storedOf('999', 2, 'late')) === 'LIKE')
    expect(await stores.plain.hot.readDirtyMarks([{ viewer: '7', business: 1, oid: 's' }])).toMatchObject([{ record: { mark: 'LIKE' } }])
    await until('it was told', () => served.errors.some((error) => String(error).includes('marks of viewer "7" in business 1')))
    await flip('7')
    await until('the waiting mark is persisted as well', async () => (await stores.plain.hot.countDirtyMarks()) === 0)
    expect(await storedOf('7')).toBe('LIKE')
    expect(await stores.plain.records.getCountsMany([{ business: 1, oid: 's' }])).toMatchObject([{ likes: 11 }])
  })

  it('hides no other marks from the sweeper, regardless of the number of waiting marks of its viewer', async () => {
    await served.stop()
    const thumbup = { flushAgeMaxMs: 5, windowMs: 20, sweepAfterMs: 200, sweepEveryMs: 20, persistKeysMax: 2 }
    served = serveThumbup(stores, thumbupConfig({ thumbup }))
    await flip('7')
    const put = (viewer: string, oid: string) =>
      stores.plain.hot.putMarks([{ viewer, business: 1, oid, mark: 'LIKE', markedAt: 5, blind: true }], { now: 5, cap: 10 })
    for (const oid of ['p', 'q', 'r', 's', 't']) await put('7', oid)
    await put('100', 's')
    job = await served.subgraph.startJob()
    await until('the other one is swept', async () => (await stores.plain.hot.countDirtyMarks()) === 5)
    expect(await storedOf('100')).toBe('LIKE')
  })

  it('is the code of the inputs of its viewer in a batch, and all others are accepted', async () => {
    await flip('7')
    const answers = await mark(like('8'), like('7'), ...Array.from({ length: 10 }, (_, at) => like(String(100 + at))))
    expect(answers.map((answer) => ('code' in answer ? answer.code : answer.outcome))).toEqual([
      'ACCEPTED',
      'DATA_DAMAGED',
      ...Array(10).fill('ACCEPTED'),
    ])
    await expect(mark(like('7'))).rejects.toMatchObject({ code: 'DATA_DAMAGED' })
  })

  it('is an error for its viewer, and not for concurrent requests of others', async () => {
    await flip('7')
    for (const redis of ['up', 'down'] as const) {
      stores.set('redis', redis)
      const answers = await Promise.all(['8', '7', '9'].map((viewer) => served.ask(READ, viewerOf(viewer))))
      expect(answers.map(({ data, errors }) => errors[0]?.code ?? data.subjects[0].viewerMark)).toEqual(['LIKE', 'DATA_DAMAGED', 'LIKE'])
    }
  })

  it('does not stop the removal of a deleted business, although nothing can be archived beside it', async () => {
    const record = { mark: 'LIKE' as const, markedAt: Date.now(), version: 6 }
    await stores.plain.records.applyMarks([{ key: { viewer: '1', business: 3, oid: 'gone' }, record }], [])
    stores.refuse('records.archiveMarks', 'DATA_DAMAGED')
    job = await served.subgraph.startJob()
    await until('it is removed', async () => (await storedOf('1', 3, 'gone')) === undefined)
    await until('it was told', () => served.errors.some((error) => (error as { code?: unknown }).code === 'DATA_DAMAGED'))
  })
})
