import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ThumbupJob } from '../../subgraphs/thumbup/job.ts'
import { openMarkedStores, serveThumbup, thumbupConfig, viewerOf, type MarkedStores, type ServedThumbup } from './marked-stores.ts'
import { until } from './switched-stores.ts'

const ASK = '{ thumbups(business: "video", ids: ["hot"]) { likeCount } }'

let stores: MarkedStores
let asked: ServedThumbup
let counts: ServedThumbup
let job: ThumbupJob
beforeEach(async () => {
  stores = openMarkedStores({ records: 'lmdb' })
  const config = thumbupConfig({ thumbup: { flushAgeMaxMs: 5, windowMs: 200, sweepAfterMs: 60_000, hotTtlMs: 5_000 } })
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
  (await asked.ask(ASK, viewer === undefined ? undefined : viewerOf(viewer))).data.thumbups[0].likeCount

test('who likes a hot subject goes on seeing his like once another process has counted it; for others it is served locally', async () => {
  for (let at = 0; at < 150; at++) await ask()
  await asked.ask('mutation { mark(business: "video", id: "hot", mark: LIKE) { outcome } }', viewerOf('7'))
  const seen: number[] = []
  await until('it is persisted', async () => {
    for (let at = 0; at < 20; at++) await ask()
    seen.push(await ask('7'))
    return (await stores.plain.hot.countDirtyMarks()) === 0
  })
  const before = stores.count('cache.getCountsMany')
  for (let at = 0; at < 10; at++) {
    for (let times = 0; times < 20; times++) expect(await ask()).toBe(0)
    seen.push(await ask('7'))
  }
  expect(seen).toEqual(seen.map(() => 1))
  expect(stores.count('cache.getCountsMany') - before).toBe(10)
})
