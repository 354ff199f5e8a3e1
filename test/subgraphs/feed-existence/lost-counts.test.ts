/** A hot store that loses the fold counts of viewers: a reader does not mistake cached filters with an old count for new ones. */
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { seededRandom } from '../../../core/random.ts'
import { slotOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import { openRedisSeenStore } from '../../../subgraphs/feed-existence/stores/redis/hot-store.ts'
import { makeExistenceFold } from '../../../subgraphs/feed-existence/index.ts'
import { redisIsHere, startRedis } from '../../../harness/deployment/redis-servers.ts'
import { REGIONS, SHAPE, openSeen, seenConfig, serveSeen } from './opened.ts'
import { until } from '../../../harness/until.ts'

const MINUTE = 60_000
const here = await redisIsHere()

function open() {
  const opened = openSeen()
  onTestFinished(opened.close)
  return opened
}

describe.skipIf(!here)('on a Redis', () => {
  async function openOnRedis() {
    const servers = await startRedis()
    onTestFinished(servers.stop)
    const redis = new Redis(servers.ports[0] as number)
    onTestFinished(() => redis.disconnect())
    const opened = open()
    const hot = openRedisSeenStore({ urls: servers.urls, regions: REGIONS, ...SHAPE })
    onTestFinished(hot.close)
    const stores = { ...opened.plain, hot }
    const config = seenConfig()
    const { fold } = makeExistenceFold(opened.clock, stores, config, seededRandom(3))
    const served = serveSeen(opened, config, stores)
    onTestFinished(served.stop)
    return { opened, redis, served, hot, foldAll: () => fold(slotOf(opened.clock.now(), SHAPE.slots), ['7']) }
  }

  for (const isStaged of [false, true])
    for (const how of ['all its data', 'the key of a viewer'])
      test(`that loses ${how}: plays folded after a read with ${isStaged ? 'something' : 'nothing'} staged do not come back`, async () => {
        const { opened, redis, served, foldAll } = await openOnRedis()
        if (isStaged) await served.play('7', ['0'])
        expect(await served.unseen('7', ['1'])).toEqual(['1'])
        await served.play('7', ['1'])
        await foldAll()
        if (how === 'all its data') await redis.flushall()
        else expect(await redis.del((await redis.keys('tm:played:*:7')).filter((key) => !key.includes('user')))).toBe(1)
        opened.clock.advance(MINUTE)
        expect(await served.unseen('7', ['1'])).toEqual([])
        // Nor do they once another play is staged.
        await served.play('7', ['2'])
        expect(await served.unseen('7', ['1', '2', '3'])).toEqual(['3'])
      })

  test('a viewer with staged plays has the filters read once for any number of requests', async () => {
    const { opened, served } = await openOnRedis()
    await served.play('7', ['1'])
    for (let minute = 0; minute < 50; minute++, opened.clock.advance(MINUTE)) await served.unseen('7', ['1'])
    expect(served.subgraph.figures().cache.loads).toBe(1)
  })
})

test('a viewer without staged plays has the filters read once a minute', async () => {
  const opened = open()
  const served = serveSeen(opened)
  for (let half = 0; half < 10; half++, opened.clock.advance(MINUTE / 2)) await served.unseen('7', ['1'])
  expect(served.subgraph.figures().cache.loads).toBe(5)
})

test('filters read before an outage of the hot store are used during it, and not after it', async () => {
  const opened = open()
  const served = serveSeen(opened)
  const loads = () => served.subgraph.figures().cache.loads
  await served.play('7', ['1'])
  const ask = () => served.ask('{ unseen(business: "video", candidates: ["1"]) { ids } }', { id: '7', scopes: [] })
  await ask()
  await ask()
  expect(loads()).toBe(1)
  opened.set('hot', true)
  expect((await ask()).degraded).toContain('hotStore')
  expect([loads(), served.subgraph.figures().outages.hotStore.isDown]).toEqual([1, true])
  opened.set('hot', false)
  opened.clock.advance(1_000)
  await until('the started work has ended', () => !served.subgraph.figures().outages.hotStore.isDown)
  await ask()
  await ask()
  expect(loads()).toBe(2)
  await served.stop()
})
