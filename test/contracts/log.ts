/**
 * The contract of the log port, run unchanged by every adapter:
 *
 *     logContract('kafka', async () => ({ log, regions: 100, reopen, appendUndecodable, readRewards, dispose }))
 *
 * `open` runs once per suite. The log may hold messages of earlier runs, but no other process consumes from it during the suite.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { RewardEvent } from '../../core/domain.ts'
import { keyText, settingsKey } from '../../core/progress-key.ts'
import { regionOf } from '../../core/regions.ts'
import type { ConsumerHooks, FlushMessage, Log, LogBatch } from '../../writeback/log.ts'
import { freshNamedViewer, freshViewer, freshViewerIn, keyOf, numbered } from './reports.ts'
import { REWARD_KINDS, rewardOf } from '../../core/rewards.ts'
import { until } from '../../harness/until.ts'
import type { LogConsumer } from '../../core/log-consumer.ts'

export type OpenedLog = {
  log: Log
  /** The configured number of regions. At least 2. */
  regions: number
  /** Closes `log` and opens the same data again. */
  reopen(): Promise<Log>
  /** Appends a flush message of this region that no decoder can read. */
  appendUndecodable(region: number): Promise<void>
  /** All rewards in the log, in any order. */
  readRewards(): Promise<RewardEvent[]>
  /** Closes all open handles and removes the data of the suite. */
  dispose(): Promise<void>
}

/** Accepts and remembers batches; `reject` makes the next calls fail. */
function makeTaker() {
  const batches: LogBatch[] = []
  const parked: string[] = []
  let rejections = 0
  const hooks: ConsumerHooks = {
    async persist(batch) {
      batches.push(batch)
      if (rejections === 0) return
      rejections -= 1
      throw new Error('the record store is down')
    },
    parked: (reason) => parked.push(reason),
  }
  const messages = (): FlushMessage[] => batches.flatMap((batch) => [...batch.messages])
  return {
    hooks,
    batches,
    parked,
    messages,
    /** The number of messages with a key of this viewer. */
    countOf: (viewer: string): number => messages().filter((message) => message.keys.some((key) => key.viewer === viewer)).length,
    oidsOf: (viewer: string): string[] =>
      messages().flatMap((message) => message.keys.filter((key) => key.viewer === viewer).map((key) => key.oid)),
    reject(times: number): void {
      rejections = times
    },
  }
}

export function logContract(name: string, open: () => Promise<OpenedLog>): void {
  describe(`log contract: ${name}`, { timeout: 120_000 }, () => {
    let opened: OpenedLog | undefined
    const consumers = new Set<LogConsumer>()
    const current = (): OpenedLog => {
      if (opened === undefined) throw new Error('the log could not be opened')
      return opened
    }
    const log = (): Log => current().log
    const flushOf = (viewer: string, oids: readonly string[]): FlushMessage => ({
      region: regionOf(viewer, current().regions),
      keys: oids.map((oid) => keyOf(viewer, oid)),
    })
    async function consume(hooks: ConsumerHooks): Promise<LogConsumer> {
      const consumer = await log().consumeFlushes(hooks)
      consumers.add(consumer)
      return consumer
    }
    async function stop(consumer: LogConsumer): Promise<void> {
      await consumer.stop()
      consumers.delete(consumer)
    }
    const settled = (): Promise<void> => until('nothing lags', async () => (await log().lag()) === 0)

    beforeAll(async () => {
      opened = await open()
    }, 180_000)
    afterEach(async () => {
      for (const consumer of consumers) await stop(consumer)
    })
    afterAll(async () => opened?.dispose(), 180_000)

    it('a message arrives with its region and all its keys', async () => {
      const [viewer, named] = [freshViewer(), freshNamedViewer()]
      const taker = makeTaker()
      await consume(taker.hooks)
      const keys = [
        keyOf(viewer, '1'),
        keyOf(viewer, '1', 65_535),
        keyOf(viewer, 'ü'.repeat(32)),
        keyOf(viewer, '9223372036854775807'),
        settingsKey(viewer),
      ]
      await log().appendFlushes([
        { region: regionOf(viewer, current().regions), keys },
        { region: regionOf(named, current().regions), keys: [keyOf(named, '007')] },
      ])
      await until('both messages', () => taker.countOf(viewer) > 0 && taker.countOf(named) > 0)
      const message = taker.messages().find((item) => item.keys.some((key) => key.viewer === viewer))
      expect(message?.region).toBe(regionOf(viewer, current().regions))
      expect(message?.keys.map(keyText).toSorted()).toEqual(keys.map(keyText).toSorted())
      expect(taker.oidsOf(named)).toEqual(['007'])
    })

    it('a message may have many viewers', async () => {
      const viewers = Array.from({ length: 20 }, () => freshViewerIn(1, current().regions))
      const taker = makeTaker()
      await consume(taker.hooks)
      await log().appendFlushes([{ region: 1, keys: viewers.flatMap((viewer) => numbered(5).map((oid) => keyOf(viewer, oid))) }])
      await until('the message', () => taker.countOf(viewers[0] ?? '') > 0)
      for (const viewer of viewers) expect(taker.oidsOf(viewer)).toEqual(numbered(5))
    })

    it('appending nothing is harmless', async () => {
      await log().appendFlushes([])
      await log().appendRewards([])
    })

    it('a consumer receives messages appended before it started', async () => {
      const viewer = freshViewer()
      await log().appendFlushes([flushOf(viewer, ['1'])])
      const taker = makeTaker()
      await consume(taker.hooks)
      await until('the message', () => taker.countOf(viewer) > 0)
    })

    it('messages of a region arrive in the order of appending, and batches of a partition never overlap', async () => {
      const viewer = freshViewer()
      const others = Array.from({ length: 30 }, () => freshViewer())
      const taker = makeTaker()
      const underWay = new Set<number>()
      let overlaps = 0
      await consume({
        async persist(batch) {
          if (underWay.has(batch.partition)) overlaps += 1
          underWay.add(batch.partition)
          await new Promise((resolve) => setTimeout(resolve, 5))
          underWay.delete(batch.partition)
          await taker.hooks.persist(batch)
        },
      })
      for (const oid of numbered(30)) await log().appendFlushes([flushOf(viewer, [oid]), ...others.map((other) => flushOf(other, [oid]))])
      await until('all messages', () => taker.countOf(viewer) >= 30 && others.every((other) => taker.countOf(other) >= 30))
      expect(taker.oidsOf(viewer)).toEqual(numbered(30))
      expect(overlaps).toBe(0)
    })

    it('a consumer gets every region, and batches have only regions of one partition', async () => {
      const taker = makeTaker()
      const consumer = await consume(taker.hooks)
      await until('all regions', () => consumer.ownedRegions().length === current().regions)
      expect(consumer.ownedRegions().toSorted((a, b) => a - b)).toEqual([...Array(current().regions).keys()])
      await log().appendFlushes(
        [...Array(current().regions).keys()].map((region) => flushOf(freshViewerIn(region, current().regions), ['1'])),
      )
      await settled()
      const partitions = new Map<number, number>()
      for (const batch of taker.batches) {
        for (const { region } of batch.messages) {
          expect(partitions.get(region) ?? batch.partition).toBe(batch.partition)
          partitions.set(region, batch.partition)
        }
      }
      expect(partitions.size).toBe(current().regions)
    })

    it('lag counts appended and uncommitted messages', async () => {
      const taker = makeTaker()
      const first = await consume(taker.hooks)
      await settled()
      await stop(first)
      const viewer = freshViewer()
      await log().appendFlushes(numbered(7).map((oid) => flushOf(viewer, [oid])))
      await until('seven lag', async () => (await log().lag()) === 7)
      await consume(taker.hooks)
      await settled()
      expect(taker.countOf(viewer)).toBe(7)
    })

    it('a committed message is not delivered again', async () => {
      const viewer = freshViewer()
      const first = makeTaker()
      const consumer = await consume(first.hooks)
      await log().appendFlushes([flushOf(viewer, ['1'])])
      await until('the message', () => first.countOf(viewer) > 0)
      await settled()
      await stop(consumer)
      const second = makeTaker()
      const later = freshViewer()
      await log().appendFlushes([flushOf(later, ['1'])])
      await consume(second.hooks)
      await until('the later message', () => second.countOf(later) > 0)
      expect(second.countOf(viewer)).toBe(0)
    })

    it('a batch that fails to persist is delivered again as a whole until it succeeds', async () => {
      const viewer = freshViewer()
      const taker = makeTaker()
      const consumer = await consume(taker.hooks)
      await settled()
      await stop(consumer)
      taker.reject(2)
      await log().appendFlushes(numbered(3).map((oid) => flushOf(viewer, [oid])))
      await consume(taker.hooks)
      await settled()
      expect(new Set(taker.oidsOf(viewer))).toEqual(new Set(numbered(3)))
      expect(taker.oidsOf(viewer).filter((oid) => oid === '1').length).toBeGreaterThanOrEqual(2)
    })

    it('an unpersisted message of a stopped consumer is delivered to the next one', async () => {
      const viewer = freshViewer()
      const failing = makeTaker()
      failing.reject(1_000_000)
      const consumer = await consume(failing.hooks)
      await log().appendFlushes([flushOf(viewer, ['1'])])
      await until('a failed attempt', () => failing.countOf(viewer) > 0)
      await stop(consumer)
      const taker = makeTaker()
      await consume(taker.hooks)
      await until('the next attempt', () => taker.countOf(viewer) > 0)
      await settled()
    })

    it('stopping waits for the batch under way and commits it, and nothing is delivered afterwards', async () => {
      const viewer = freshViewer()
      const taker = makeTaker()
      let begun = false
      let finished = false
      const consumer = await consume({
        async persist(batch) {
          await taker.hooks.persist(batch)
          if (taker.countOf(viewer) === 0) return
          begun = true
          await new Promise((resolve) => setTimeout(resolve, 300))
          finished = true
        },
      })
      await log().appendFlushes([flushOf(viewer, ['1'])])
      await until('the batch', () => begun)
      await stop(consumer)
      expect(finished).toBe(true)
      const after = taker.batches.length
      await log().appendFlushes([flushOf(freshViewer(), ['1'])])
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      expect(taker.batches.length).toBe(after)
      const next = makeTaker()
      await consume(next.hooks)
      await settled()
      expect(next.countOf(viewer)).toBe(0)
    })

    it('a message that cannot be decoded is parked with its reason, and its partition continues', async () => {
      const viewer = freshViewerIn(0, current().regions)
      const taker = makeTaker()
      await log().appendFlushes([flushOf(viewer, ['before'])])
      await current().appendUndecodable(0)
      await log().appendFlushes([flushOf(viewer, ['after'])])
      await consume(taker.hooks)
      await settled()
      expect(taker.oidsOf(viewer)).toEqual(['before', 'after'])
      expect(taker.parked).toHaveLength(1)
      expect(taker.parked[0]?.length).toBeGreaterThan(0)
    })

    it('messages survive a restart', async () => {
      const viewer = freshViewer()
      await log().appendFlushes([flushOf(viewer, ['1', '2'])])
      current().log = await current().reopen()
      const taker = makeTaker()
      await consume(taker.hooks)
      await until('the message', () => taker.countOf(viewer) > 0)
      expect(taker.oidsOf(viewer)).toEqual(['1', '2'])
    })

    it('rewards are kept for their consumers', async () => {
      const viewer = freshViewer()
      const rewards = REWARD_KINDS.map((kind, at) => rewardOf(viewer, at, 20_000, kind))
      await log().appendRewards(rewards)
      const kept = new Map((await current().readRewards()).map((reward) => [reward.id, reward]))
      expect(rewards.map((reward) => kept.get(reward.id))).toEqual(rewards)
    })

    it('an available log passes its check', async () => {
      await log().check()
    })
  })
}
