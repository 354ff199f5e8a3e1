import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { migrateMysql } from '../../stores/mysql/schema-version.ts'
import { type TestDatabase, makeDatabase, mariadb } from '../stores/mysql/databases.ts'
import { makeTopics } from '../stores/kafka/setup.ts'
import { type StallRig, startStallRig } from '../../harness/faults/feed-stall.ts'
import { service } from '../../harness/deployment/services.ts'
import { until } from '../../harness/until.ts'

const kafka = await service('kafka')
const BOUNDS = { staleAfterMs: 1_500, backAfterMs: 1_500, stalledAfterMs: 4_000 }
/** For a tick of the switch, and for a busy machine. */
const SLACK_MS = 1_500

describe.skipIf(mariadb === undefined || kafka === undefined)('a binary log that stalls', () => {
  const connection = { brokers: [kafka as string] }
  let test: TestDatabase
  let topics: Awaited<ReturnType<typeof makeTopics>>
  let rig: StallRig | undefined
  beforeAll(async () => {
    topics = await makeTopics(connection)
    test = await makeDatabase()
    await migrateMysql(test.database)
  })
  afterEach(async () => {
    await rig?.close()
    await test.database.send('DELETE FROM counts')
    await test.database.send('DELETE FROM likes')
  })
  afterAll(async () => {
    await test?.drop()
    await topics?.dispose()
  })

  it.each(['silent', 'broken'] as const)(
    '(%s) is replaced by events within the bound and restored, with no change lost and none counted twice',
    async (cut) => {
      rig = await startStallRig(test.url, connection.brokers, topics.topicPrefix, BOUNDS)
      const { feed, network, downstream, committed, switched, reloads } = rig
      const writer = rig.write(20)
      await until('the change feed brings', () => downstream.received.size > 20)
      await until('both are fresh', () => feed.figures().primaryLagMs < 1_000 && feed.figures().fallbackLagMs < 1_500)
      expect(feed.figures()).toMatchObject({ active: 'primary', switches: 0 })
      downstream.takeLongestSilence()

      const cutAt = performance.now()
      network.cut(cut)
      await until('events take over', () => feed.figures().active === 'fallback')
      expect((switched[0]?.at ?? Infinity) - cutAt).toBeLessThan(BOUNDS.staleAfterMs + SLACK_MS)
      await sleep(2_000)
      expect(downstream.takeLongestSilence()).toBeLessThan(BOUNDS.staleAfterMs + SLACK_MS)
      expect(feed.figures().freshnessMs).toBeLessThan(3_000)

      network.mend()
      await until('the change feed is back', () => feed.figures().active === 'primary')
      await sleep(500)
      await writer.stop()
      await until('all came', () => downstream.received.size >= committed.size)
      await sleep(500)
      expect([...committed].filter((version) => !downstream.received.has(version))).toEqual([])
      expect(downstream.twice).toEqual([])
      expect(downstream.likes()).toBe(await rig.likesInDatabase())
      expect(feed.figures()).toMatchObject({ active: 'primary', switches: 2 })
      expect(feed.figures().repeated).toBeGreaterThan(0)
      expect(reloads).toEqual([])
    },
  )
})
