/** A call with marks of many viewers. The hot store knows some of them. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../../../../harness/until.ts'
import { openMarkedStores, serveThumbup, storeLikes, viewerOf, type MarkedStores, type ServedThumbup } from '../marked-stores.ts'

const BATCH = `mutation ($marks: [SetMarkInput!]!) { setMarkBatch(input: { marks: $marks }) { results { outcome oldMark mark } } }`
const READ = `query ($ids: [ID!]!) { subjects(business: "video", ids: $ids) { likeCount viewerMark } }`
const KNOWN = ['0', '1', '2']
const STORED = ['3', '4', '5']
const NEW = ['6', '7', '8', '9', '10', '11']
const VIEWERS = [...KNOWN, ...STORED, ...NEW]

describe('an import', () => {
  let stores: MarkedStores
  let served: ServedThumbup
  beforeEach(async () => {
    stores = openMarkedStores()
    served = serveThumbup(stores)
    await storeLikes(stores, [...KNOWN, ...STORED])
    for (const viewer of KNOWN) await read(viewer)
    stores.calls.length = 0
  })
  afterEach(async () => {
    await served.stop()
    await stores.close()
  })

  const read = async (viewer: string) => (await served.ask(READ, viewerOf(viewer), { ids: ['a'] })).data.subjects[0]
  /** Two marks per viewer: the second one must see the first. */
  const marks = VIEWERS.flatMap((viewer) => ['DISLIKE', 'LIKE'].map((mark) => ({ viewer, business: 'video', id: 'a', mark })))
  const send = () => served.ask(BATCH, viewerOf('1', 'marks:write-any'), { marks })
  const oldOf = (viewer: string): string => (NEW.includes(viewer) ? 'NONE' : 'LIKE')
  const accepted = (oldMark: (viewer: string) => string) =>
    VIEWERS.flatMap((viewer) => [
      { outcome: 'ACCEPTED', oldMark: oldMark(viewer), mark: 'DISLIKE' },
      { outcome: 'ACCEPTED', oldMark: 'DISLIKE', mark: 'LIKE' },
    ])
  const counted = (...calls: string[]) => calls.map(stores.count)

  test('reads the rows of unknown viewers once, before their marks are put, and keeps the order of each viewer', async () => {
    expect((await send()).data.setMarkBatch.results).toEqual(accepted(oldOf))
    expect(counted('hot.beginReads', 'records.getMarkMany', 'records.listMarks', 'hot.putMarks')).toEqual([1, 1, 0, 2])
    const job = await served.subgraph.startJob()
    await until('all are counted', async () => (await read('nobody')).likeCount === VIEWERS.length)
    await job.stop()
  })

  test('fills a few unknown viewers, and puts once if the hot store knows all viewers', async () => {
    for (const viewer of [...STORED, ...NEW.slice(0, 3)]) await read(viewer)
    stores.calls.length = 0
    expect((await send()).data.setMarkBatch.results).toEqual(accepted(oldOf))
    // The second put does not wait for the fills, but the hot store executes it after them.
    expect(counted('hot.beginReads', 'records.getMarkMany', 'records.listMarks', 'hot.putMarks')).toEqual([1, 0, 3, 2])
    stores.calls.length = 0
    expect((await send()).data.setMarkBatch.results).toEqual(accepted(() => 'LIKE'))
    expect(counted('hot.beginReads', 'records.getMarkMany', 'records.listMarks', 'hot.putMarks')).toEqual([1, 0, 0, 1])
  })

  test('needs no record store for marks that the hot store holds, although their viewers are unknown', async () => {
    await send()
    stores.set('records', 'down')
    const { data, degraded } = await send()
    expect(data.setMarkBatch.results).toEqual(accepted(() => 'LIKE'))
    expect(degraded).toEqual([])
  })

  test('returns no old mark of unknown viewers while the record store is down, and names it as degraded', async () => {
    stores.set('records', 'down')
    const { data, degraded } = await send()
    const results = accepted(() => 'LIKE').map((each, at) => (at < 2 * KNOWN.length ? each : { ...each, oldMark: null }))
    expect(data.setMarkBatch.results).toEqual(results)
    expect(degraded).toEqual(['recordStore'])
  })
})
