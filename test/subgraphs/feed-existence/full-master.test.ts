/** A full master of a Redis Cluster: a Cluster for this test, in which the memory of one master is limited and extended again. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { mastersOf } from '../../../harness/deployment/cluster-operator.ts'
import { redisIsHere, startCluster } from '../../../harness/deployment/redis-servers.ts'
import { until } from '../../../harness/until.ts'
import { openRedisSeenStore } from '../../../subgraphs/feed-existence/stores/redis/hot-store.ts'
import { REGIONS, SHAPE, openSeen, serveSeen, viewerOf } from './opened.ts'

const isHere = await redisIsHere()
const closing: (() => Promise<unknown>)[] = []
let urls: string[]
/** The master of the lowest slots. */
let master: Redis

beforeAll(async () => {
  if (!isHere) return
  const cluster = await startCluster()
  urls = cluster.urls
  const nodes = urls.map((url) => new Redis(url))
  closing.push(cluster.stop, async () => nodes.forEach((node) => node.disconnect()))
  await until('there are three masters', async () => (await mastersOf(nodes)).length === 3)
  master = ((await mastersOf(nodes))[0] as { node: Redis }).node
})
afterAll(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function setMemory(bytes: number): Promise<void> {
  await master.config('SET', 'maxmemory-policy', 'noeviction')
  await master.config('SET', 'maxmemory', bytes)
}

const playOf = (viewer: string) => ({ viewer, business: 1, oid: 'a', playedAt: Date.now() })
const PLAY = 'mutation ($id: ID!) { recordPlayed(input: { business: "video", ids: [$id] }) { visible } }'
const UNSEEN =
  'query ($ids: [ID!]!) { unseen(business: "video", candidates: $ids) { ids } subjects(business: "video", ids: $ids) { viewerSeen } }'

describe.skipIf(!isHere)('a full master', () => {
  test('is named by the errors of a check and of a write, with all of its regions and no others', async () => {
    const hot = openRedisSeenStore({ urls, regions: 12, ...SHAPE, shards: 12, prefix: 'named' })
    await hot.stagePlays([playOf('1'), playOf('11')], { now: Date.now(), slot: 1 })
    await setMemory(1)
    try {
      await expect(hot.check()).rejects.toMatchObject({ code: 'STORE_FULL', parts: new Set([0, 1, 2, 3]) })
      await expect(hot.check(1)).rejects.toMatchObject({ code: 'STORE_FULL', parts: new Set([1]) })
      await hot.check(11)
      const write = hot.stagePlays([playOf('1'), playOf('11')], { now: Date.now(), slot: 1 })
      await expect(write).rejects.toMatchObject({ code: 'STORE_FULL', parts: new Set([1]) })
    } finally {
      await setMemory(0)
      await hot.close()
    }
  })

  test('degrades the answers to its own viewers, and to no others', async () => {
    const embedded = openSeen()
    const hot = openRedisSeenStore({ urls, regions: REGIONS, ...SHAPE })
    const opened = { ...embedded, clock: systemClock as typeof embedded.clock }
    const served = serveSeen(opened, undefined, { hot, log: embedded.plain.log, records: embedded.plain.records })
    closing.push(embedded.close, () => hot.close(), served.stop)
    await served.subgraph.start()
    const [ofMaster, ofAnother] = [viewerOf('2'), viewerOf('3')]
    const degradedOf = async (viewer: typeof ofMaster) => (await served.ask(UNSEEN, viewer, { ids: ['seen', 'new'] })).degraded
    for (const viewer of [ofMaster, ofAnother])
      expect(await served.ask(PLAY, viewer, { id: 'seen' })).toMatchObject({ data: { recordPlayed: { visible: true } }, degraded: [] })
    await setMemory(1)
    await until('the process notices it without a write', async () => (await degradedOf(ofMaster)).includes('hotStore'))
    // For some checks.
    for (const end = Date.now() + 2_500; Date.now() < end; await sleep(20)) expect(await degradedOf(ofAnother)).toEqual([])
    expect(await degradedOf(ofMaster)).toEqual(['hotStore'])
    expect(await served.ask(PLAY, ofAnother, { id: 'next' })).toMatchObject({ data: { recordPlayed: { visible: true } }, degraded: [] })
    expect(served.subgraph.figures().outages.hotStore).toEqual({ isDown: true, count: 1 })
    await setMemory(0)
    await until('its viewers get whole answers again', async () => (await degradedOf(ofMaster)).length === 0)
    expect(served.subgraph.figures().outages.hotStore).toEqual({ isDown: false, count: 1 })
  })
})
