/** Runs the contract of the counter store on one Redis and on a Cluster. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { redisIsHere, startCluster, startRedis, type TestServers } from '../../../../../harness/deployment/redis-servers.ts'
import { openRedisCounterStore } from '../../../../../subgraphs/feed/stores/redis/counters/counter-store.ts'
import { persistCounts } from '../../../../../subgraphs/feed/counters/persist.ts'
import type { Counts } from '../../../../../subgraphs/feed/model/counts.ts'
import { makeCounterSchema } from '../../../../../subgraphs/feed/packed/counter-schema.ts'
import { COUNTER_REGIONS, SCHEMAS, ZERO, eventOf, freshSubject } from '../../../../contracts/feed/counter-samples.ts'
import { counterStoreContract } from '../../../../contracts/feed/counter-store.ts'
import { openedBy } from '../../../../contracts/opened-store.ts'
import { later, numbered } from '../../../../contracts/reports.ts'

describe.skipIf(!(await redisIsHere()))('counters on Redis', () => {
  counterStoreContract('one Redis', () => open(startRedis))
  counterStoreContract('a Redis Cluster of three masters', () => open(startCluster))

  describe('blocks', () => {
    let servers: TestServers
    let admin: Redis
    beforeAll(async () => {
      servers = await startRedis()
      admin = new Redis(servers.urls[0] as string)
    })
    afterAll(async () => {
      admin.disconnect()
      await servers.stop()
    })
    const openAt = (prefix: string) => openRedisCounterStore(SCHEMAS, { urls: servers.urls, regions: 1, prefix })

    it('their number grows with the subjects, and a process with an old number finds moved subjects', async () => {
      const [one, other] = [openAt('grow'), openAt('grow')]
      const first = freshSubject()
      await one.fillTotals([{ subject: first, counts: { ...ZERO, read: 7 }, version: 0 }])
      expect(await other.getMany([first])).toEqual([{ ...ZERO, read: 7 }])
      const posts = numbered(3_000).map(() => freshSubject())
      for (let at = 0; at < posts.length; at += 500)
        await one.fillTotals(posts.slice(at, at + 500).map((subject) => ({ subject, counts: { ...ZERO, read: 1 }, version: 0 })))
      const sizes = await Promise.all((await admin.keys('grow:block:*')).map((key) => admin.strlen(key)))
      expect(sizes.length).toBeGreaterThan(110)
      expect(Math.max(...sizes)).toBeLessThan(100 * 21)
      // The other process knows one block.
      expect(await other.adjust([eventOf(first, 1)], later())).toEqual(['counted'])
      expect(await other.getMany([first, ...posts])).toEqual([{ ...ZERO, read: 8 }, ...posts.map(() => ({ ...ZERO, read: 1 }))])
      await one.close()
      await other.close()
    })

    it('an id whose bytes occur inside the entry of another id is not mistaken for it', async () => {
      const store = openAt('inside')
      // The packed bytes of this integer are the text of the other id.
      const inner = Buffer.from('abcdefgh').readBigUInt64BE().toString()
      const subjects = ['abcdefgh', 'xabcdefgh', inner].map((oid) => ({ business: 4, oid }))
      await store.fillTotals(subjects.slice(0, 2).map((subject) => ({ subject, counts: ZERO, version: 0 })))
      expect(await store.adjust([eventOf(subjects[2] as (typeof subjects)[0], 1)], later())).toEqual(['needs-base'])
      expect(await store.getMany(subjects)).toEqual([ZERO, ZERO, undefined])
      await store.fillTotals(subjects.map((subject) => ({ subject, counts: { ...ZERO, read: 3 }, version: 0 })))
      expect(await store.getMany(subjects)).toEqual([ZERO, ZERO, { ...ZERO, read: 3 }])
      await store.close()
    })

    it('another schema than that of the stored entries is refused with both, until the keys of the business are deleted', async () => {
      const store = openAt('schema')
      const [post, other] = [freshSubject(), { ...freshSubject(), business: 9 }]
      await store.fillTotals([
        { subject: post, counts: { ...ZERO, repost: 2 ** 40 }, version: 0 },
        { subject: other, counts: { view: 5 }, version: 0 },
      ])
      await store.close()
      const changed = openRedisCounterStore(new Map([...SCHEMAS, [4, makeCounterSchema<string>({ like: 24 })]]), {
        urls: servers.urls,
        regions: 1,
        prefix: 'schema',
      })
      await expect(changed.getMany([post])).rejects.toMatchObject({
        code: 'DATA_INCOMPATIBLE',
        message: expect.stringMatching(
          /"repost:3 comment:5 like:24 read:32", and "like:24" is configured: .*"Change the counters of a business" in docs\/operating\/feed-data.md/,
        ) as string,
      })

      // The keys of the document.
      for (const pattern of ['block:{*}:4:*', 'counters:size:{*}:4', 'counters:overflow:{*}:4'])
        await admin.unlink(await admin.keys(`schema:${pattern}`))
      expect(await changed.getMany([post, other])).toEqual([undefined, { view: 5 }])
      await changed.fillTotals([{ subject: post, counts: { like: 7 }, version: 0 }])
      expect(await changed.getMany([post])).toEqual([{ like: 7 }])
      expect(await admin.keys('schema:*{*}:4*')).toHaveLength(2)
      await changed.close()
    })

    it('dirty totals that Redis lost are the persisted ones again, and do not stay dirty', async () => {
      const store = openAt('lost-block')
      const post = freshSubject()
      const persisted = { subject: post, counts: { ...ZERO, read: 5 }, version: 1 }
      await store.fillTotals([persisted])
      await store.adjust([eventOf(post, 1)], later())
      await admin.unlink(await admin.keys('lost-block:block:*'))
      const written: unknown[] = []
      const records = {
        getTotalsMany: (some: readonly unknown[]) => Promise.resolve(some.map(() => persisted)),
        putTotals: (rows: readonly { counts: Counts }[]) => Promise.resolve(void written.push(...rows.map(({ counts }) => counts))),
      }
      expect(await persistCounts({ hot: store, records }, SCHEMAS, [post])).toEqual({ rows: 1, missing: 1 })
      expect(written).toEqual([persisted.counts])
      expect(await store.countDirty()).toBe(0)
      expect(await store.getMany([post])).toEqual([persisted.counts])
      await store.close()
    })

    it('after Redis has lost its data, subjects need their base again, in a process that knew many blocks', async () => {
      const store = openAt('lost')
      const posts = numbered(200).map(() => freshSubject())
      const bases = posts.map((subject) => ({ subject, counts: ZERO, version: 0 }))
      await store.fillTotals(bases)
      await admin.flushall()
      expect(await store.getMany(posts)).toEqual(posts.map(() => undefined))
      const events = posts.map((post) => eventOf(post, 1))
      expect(new Set(await store.adjust(events, later()))).toEqual(new Set(['needs-base']))
      await store.fillTotals(bases)
      expect(new Set(await store.adjust(events, later()))).toEqual(new Set(['counted']))
      await store.close()
    })
  })
})

async function open(start: () => Promise<TestServers>) {
  const { urls, stop } = await start()
  return openedBy(COUNTER_REGIONS, () => openRedisCounterStore(SCHEMAS, { urls, regions: COUNTER_REGIONS }), stop)
}
