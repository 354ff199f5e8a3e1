import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ThumbupJob } from '../../../subgraphs/thumbup/persist/job.ts'
import { openMarkedStores, serveThumbup, thumbupConfig, viewerOf, type MarkedStores, type ServedThumbup } from './marked-stores.ts'
import { until } from '../../../harness/until.ts'

const ASK = '{ subjects(business: "video", ids: ["hot"]) { likeCount } }'

let stores: MarkedStores
let asked: ServedThumbup
let counts: ServedThumbup
let job: ThumbupJob
beforeEach(async () => {
  stores = openMarkedStores({ records: 'lmdb' })
  const config = thumbupConfig({ thumbup: { flushAgeMaxMs: 5, windowMs: 200, sweepAfterMs: 60_000, hotTtlMs: 60_000 } })
  asked = serveThumbup(stores, config, { journal: false })
  counts = serveThumbup(stores, config, { journal: false })
  job = await counts.subgraph.startJob()
})
afterEach(async () => {
  await job.stop()
  await Promise.all([asked.stop(), counts.stop()])
  await stores.close()
})

const ask = async (viewer?: string) =>
  (await asked.ask(ASK, viewer === undefined ? undefined : viewerOf(viewer))).data.subjects[0].likeCount
/** More reads than a subject needs to become hot within its window, even on a slow machine. */
const strangers = () => Promise.all(Array.from({ length: 200 }, () => ask()))

test('a viewer who undoes a like of a hot subject does not see it again once another process has counted the undo', async () => {
  const mark = (as: string) =>
    asked.ask(`mutation { setMark(input: { business: "video", id: "hot", mark: ${as} }) { subject { likeCount } } }`, viewerOf('7'))
  const persisted = () => until('it is persisted', async () => (await stores.plain.hot.countDirtyMarks()) === 0)
  await mark('LIKE')
  await persisted()
  await strangers()
  expect(await ask()).toBe(1)
  const seen: number[] = [(await mark('NONE')).data.setMark.subject.likeCount]
  await persisted()
  for (let at = 0; at < 10; at++) {
    await strangers()
    seen.push(await ask('7'))
  }
  expect(seen).toEqual(seen.map(() => 0))
})

test('a viewer who likes a hot subject still sees the like once another process has counted it; others are served locally', async () => {
  await strangers()
  await asked.ask('mutation { setMark(input: { business: "video", id: "hot", mark: LIKE }) { outcome } }', viewerOf('7'))
  const seen: number[] = []
  await until('it is persisted', async () => {
    await strangers()
    seen.push(await ask('7'))
    return (await stores.plain.hot.countDirtyMarks()) === 0
  })
  const before = stores.count('cache.getCountsMany')
  for (let at = 0; at < 10; at++) {
    await strangers()
    seen.push(await ask('7'))
  }
  expect(seen).toEqual(seen.map(() => 1))
  // Out of 2,010: a slow machine lets the subject cool down in between.
  expect(stores.count('cache.getCountsMany') - before).toBeLessThan(1_000)
})
