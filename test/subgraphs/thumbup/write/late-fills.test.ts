/** A mark of an unknown viewer when the viewer's fill fails or arrives late. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { until } from '../../../../harness/until.ts'
import { openMarkedStores, serveThumbup, storeLikes, viewerOf, type MarkedStores, type ServedThumbup } from '../marked-stores.ts'

const SET = `mutation ($input: SetMarkInput!) { setMark(input: $input) { outcome oldMark mark } }`
const READ = `query ($ids: [ID!]!) { subjects(business: "video", ids: $ids) { likeCount viewerMark } }`
const ACCEPTED = { outcome: 'ACCEPTED', oldMark: 'LIKE', mark: 'DISLIKE' }

let stores: MarkedStores
let served: ServedThumbup
beforeEach(async () => {
  stores = openMarkedStores()
  served = serveThumbup(stores)
  await storeLikes(stores, ['1'])
  stores.calls.length = 0
})
afterEach(async () => {
  await served.stop()
  await stores.close()
})

const dislike = () => served.ask(SET, viewerOf('1'), { input: { business: 'video', id: 'a', mark: 'DISLIKE' } })
const read = async () => (await served.ask(READ, viewerOf('1'), { ids: ['a'] })).data.subjects[0]
const counted = (...calls: string[]) => calls.map(stores.count)
const CALLS = ['records.listMarks', 'records.getMarkMany', 'hot.putMarks']

async function countMarks(): Promise<void> {
  const job = await served.subgraph.startJob()
  await until(
    'the dislike is counted',
    async () => (await stores.plain.records.getCountsMany([{ business: 1, oid: 'a' }]))[0]?.dislikes === 1,
  )
  await job.stop()
}

test('a failed fill costs the mark one more read and one more put, and the answer is not degraded', async () => {
  stores.refuse('hot.fillMarks', 'INTERNAL')
  const { data, degraded } = await dislike()
  expect(data.setMark).toEqual(ACCEPTED)
  expect(degraded).toEqual([])
  expect(counted(...CALLS)).toEqual([1, 1, 3])
})

test('a fill that arrives after the mark does not change the mark or its counts', async () => {
  const late = Promise.withResolvers<void>()
  stores.before('hot.fillMarks', () => late.promise)
  expect((await dislike()).data.setMark).toEqual(ACCEPTED)
  expect(counted(...CALLS)).toEqual([1, 1, 3])
  late.resolve()
  await until('the fill is over', async () => (await stores.plain.hot.beginReads([{ viewer: '1', business: 1 }]))[0]?.unknown === false)
  expect(await read()).toEqual({ likeCount: 0, viewerMark: 'DISLIKE' })
  await countMarks()
  expect(await read()).toEqual({ likeCount: 0, viewerMark: 'DISLIKE' })
})
