/** A full hot store: a Redis for this test, whose memory is limited and extended again. Two gateways, one job. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { openRedisSeenStore } from '../../../subgraphs/feed-existence/stores/redis/hot-store.ts'
import { redisIsHere, startRedis, type TestServers } from '../../../harness/deployment/redis-servers.ts'
import { until } from '../../../harness/until.ts'
import { REGIONS, SHAPE, openSeen, serveSeen, viewerOf } from './opened.ts'

const isHere = await redisIsHere()
const closing: (() => Promise<unknown>)[] = []
let redis: TestServers
let operator: Redis

beforeAll(async () => {
  if (!isHere) return
  redis = await startRedis()
  operator = new Redis(redis.urls[0] as string)
  closing.push(
    () => redis.stop(),
    async () => operator.disconnect(),
  )
})
afterAll(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function setMemory(bytes: number): Promise<void> {
  await operator.config('SET', 'maxmemory-policy', 'noeviction')
  await operator.config('SET', 'maxmemory', bytes)
}

const PLAY = 'mutation ($id: ID!) { recordPlayed(input: { business: "video", ids: [$id] }) { recordedCount visible } }'
const UNSEEN =
  'query ($ids: [ID!]!) { unseen(business: "video", candidates: $ids) { ids } subjects(business: "video", ids: $ids) { viewerSeen } }'

describe.skipIf(!isHere)('a full hot store', () => {
  test('takes no plays, and an answer of any process that may show one is degraded', async () => {
    const embedded = openSeen()
    const opened = { ...embedded, clock: systemClock as typeof embedded.clock }
    closing.push(embedded.close)
    const gateway = async () => {
      const hot = openRedisSeenStore({ urls: redis.urls, regions: REGIONS, ...SHAPE })
      const served = serveSeen(opened, undefined, { hot, log: embedded.plain.log, records: embedded.plain.records })
      await served.subgraph.start()
      closing.push(
        () => hot.close(),
        () => served.stop(),
      )
      return served
    }
    const [taker, other] = [await gateway(), await gateway()]
    const viewer = viewerOf('7')
    const [shown, ids] = [new Set<string>(), ['before', 'full', 'full too', 'new']]
    const look = async ({ ask }: typeof taker, acknowledged: readonly string[]) => {
      const { data, degraded, errors } = await ask(UNSEEN, viewer, { ids })
      expect(errors).toEqual([])
      const lacking = acknowledged.filter((id) => data.unseen.ids.includes(id) || data.subjects[ids.indexOf(id)].viewerSeen === null)
      if (!degraded.includes('hotStore')) expect(lacking).toEqual([])
      for (const id of lacking) shown.add(id)
      return { degraded, lacking }
    }
    expect(await taker.ask(PLAY, viewer, { id: 'before' })).toMatchObject({ data: { recordPlayed: { visible: true } }, degraded: [] })
    expect(await look(other, ['before'])).toEqual({ degraded: [], lacking: [] })

    await setMemory(1)
    // No process has written yet: each notices it by itself.
    await until('the other one knows', async () => (await look(other, ['before'])).degraded.includes('hotStore'))
    for (const id of ['full', 'full too']) {
      const answer = await taker.ask(PLAY, viewer, { id })
      expect(answer).toEqual({ data: { recordPlayed: { recordedCount: 1, visible: false } }, errors: [], degraded: ['hotStore'] })
      // The process that took the plays hides them. The other one answers degraded.
      expect(await look(taker, ['before', 'full', id])).toEqual({ degraded: ['hotStore'], lacking: [] })
      expect((await look(other, ['before', 'full', id])).degraded).toEqual(['hotStore'])
    }
    expect(taker.subgraph.figures()).toMatchObject({ staging: { waiting: 2 }, outages: { hotStore: { isDown: true, count: 1 } } })
    expect(taker.errors.map(String)).toEqual([expect.stringContaining('maxmemory')])

    await setMemory(0)
    const all = ['before', 'full', 'full too']
    // No job runs: the first process stages the plays that the other one needs.
    await until('it is staged', async () => {
      await look(taker, all)
      await look(other, all)
      return taker.subgraph.figures().staging.waiting === 0
    })
    expect(await look(other, all)).toMatchObject({ lacking: [] })
    // The log may also have plays of other processes.
    expect((await look(other, all)).degraded).toEqual(['hotStore'])
    const job = await other.subgraph.startJob()
    for (const each of [taker, other]) await until('nothing is missing', async () => (await look(each, all)).degraded.length === 0)
    expect(taker.subgraph.figures().outages.hotStore).toEqual({ isDown: false, count: 1 })
    await job.stop()
  })
})
