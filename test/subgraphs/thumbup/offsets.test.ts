/** The offsets in the record store for streams that share it. */
import { expect, test } from 'vitest'
import { markStream } from '../../../subgraphs/thumbup/model/streams.ts'
import { topicNames } from '../../../stores/kafka/topics.ts'
import { until } from '../../../harness/until.ts'
import { openMarkedStores, serveThumbup, thumbupConfig, viewerOf } from './marked-stores.ts'

const COMMON = markStream('tidemark', undefined)
const OWN = markStream('tidemark', 'article')

test('a business with its own stream and the common database moves only its own offsets', async () => {
  const [common, own] = [openMarkedStores({ records: 'lmdb' }), openMarkedStores({ records: 'lmdb' })]
  const tenant = { ...own.stores, records: common.stores.records }
  const served = serveThumbup(common, thumbupConfig(), { journal: false, tenants: new Map([[2, tenant]]) })
  const job = await served.subgraph.startJob()
  const like = async (business: string, id: string) => {
    const source = 'mutation ($business: String!, $id: ID!) { setMark(input: { business: $business, id: $id, mark: LIKE }) { outcome } }'
    expect((await served.ask(source, viewerOf('7'), { business, id })).data.setMark.outcome).toBe('ACCEPTED')
  }
  // The marks of one viewer are in one partition.
  const offsetOf = async (stream: string) => (await common.plain.records.getOffsets(stream))[0]?.offset ?? 0
  for (let at = 0; at < 4; at++) {
    const before = await offsetOf(COMMON)
    await like('video', `v${at}`)
    await until('it is persisted', async () => (await offsetOf(COMMON)) > before)
  }
  const reached = await offsetOf(COMMON)
  await like('article', 'a')
  await until('it is persisted', async () => (await offsetOf(OWN)) > 0)
  expect(await offsetOf(OWN)).toBeLessThan(reached)
  expect(await offsetOf(COMMON)).toBe(reached)
  await served.stop()
  await job.stop()
  await Promise.all([common.close(), own.close()])
})

test('a stream has the name of its topic', () => {
  expect([COMMON, OWN]).toEqual([topicNames('tidemark', 'marks').flushes, topicNames('tidemark.article', 'marks').flushes])
})
