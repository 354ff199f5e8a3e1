import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock, type Clock } from '../../../../core/clock.ts'
import { openEnvironment, type Environment } from '../../../../stores/lmdb/environment.ts'
import { openLogTables } from '../../../../writeback/stores/lmdb/log-tables.ts'
import { openLogTraces } from '../../../../writeback/stores/lmdb/traces.ts'
import { openLmdbLog } from '../../../../writeback/stores/lmdb/log.ts'
import { appendAll } from '../../../../stores/lmdb/sequences.ts'
import type { Log } from '../../../../writeback/log.ts'
import { logContract } from '../../../contracts/log.ts'
import { keyOf } from '../../../contracts/reports.ts'
import { makeFolder } from '../../../stores/lmdb/folders.ts'
import { rewardOf } from '../../../../core/rewards.ts'
import { readRewardEvents } from '../../../../writeback/reward-events.ts'
import { until } from '../../../../harness/until.ts'

logContract('lmdb', async () => {
  const folder = makeFolder()
  const regions = 100
  let environment: Environment
  const open = (): Log => {
    environment = openEnvironment(folder.path, { regions, sizeMaxGb: 1 })
    return openLmdbLog(environment, systemClock)
  }
  let log = open()
  const close = async (): Promise<void> => {
    await log.close()
    await environment.close()
  }
  return {
    log,
    regions,
    async reopen() {
      await close()
      log = open()
      return log
    },
    async appendUndecodable() {
      const { flushes, counters } = openLogTables(environment)
      await environment.write(() => appendAll(flushes, counters, 'flushes', [Buffer.from('not a flush')]))
    },
    readRewards: async () => ((await log.readRewards?.(0, 1_000_000))?.rewards ?? []).map(({ reward }) => reward),
    async dispose() {
      await close()
      folder.remove()
    },
  }
})

describe('the log on LMDB', () => {
  let folder = makeFolder()
  let environment = openEnvironment(folder.path, { regions: 4, sizeMaxGb: 1 })
  beforeEach(async () => {
    await environment.close()
    folder.remove()
    folder = makeFolder()
    environment = openEnvironment(folder.path, { regions: 4, sizeMaxGb: 1 })
  })
  afterEach(async () => {
    await environment.close()
    folder.remove()
  })

  it('retries a failed batch after a delay that doubles up to its bound', async () => {
    const delays: number[] = []
    const eagerClock: Clock = {
      now: () => 0,
      after(delayMs, task) {
        delays.push(delayMs)
        const immediate = setImmediate(task)
        return { cancel: () => clearImmediate(immediate) }
      },
    }
    const log = openLmdbLog(environment, eagerClock, { retryMinMs: 100, retryMaxMs: 5_000, pollMs: 123_456 })
    await log.appendFlushes([{ region: 1, keys: [keyOf('1', '1')] }])
    let attempts = 0
    const consumer = await log.consumeFlushes({
      persist() {
        attempts += 1
        return attempts <= 9 ? Promise.reject(new Error('down')) : Promise.resolve()
      },
    })
    await until('the tenth attempt', async () => (await log.lag()) === 0)
    await consumer.stop()
    expect(attempts).toBe(10)
    expect(delays.filter((delay) => delay !== 123_456)).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000])
  })

  it('a batch is bounded by messages and by keys', async () => {
    const log = openLmdbLog(environment, systemClock, { messagesMax: 4, keysMax: 10 })
    const flush = (keys: number) => ({ region: 1, keys: Array.from({ length: keys }, (_, index) => keyOf('1', String(index))) })
    await log.appendFlushes([flush(3), flush(8), flush(1), flush(1), flush(1), flush(1), flush(50), flush(1)])
    const sizes: number[][] = []
    const consumer = await log.consumeFlushes({
      async persist(batch) {
        sizes.push(batch.messages.map((message) => message.keys.length))
      },
    })
    await until('all', async () => (await log.lag()) === 0)
    await consumer.stop()
    expect(sizes).toEqual([[3, 8], [1, 1, 1, 1], [50], [1]])
  })

  it('detects messages appended by another process', async () => {
    const [here, there] = [openLmdbLog(environment, systemClock, { pollMs: 20 }), openLmdbLog(environment, systemClock)]
    const regions: number[] = []
    const consumer = await here.consumeFlushes({
      async persist(batch) {
        regions.push(...batch.messages.map((message) => message.region))
      },
    })
    await new Promise((resolve) => setTimeout(resolve, 60))
    await there.appendFlushes([{ region: 3, keys: [keyOf('3', '1')] }])
    await until('the message', () => regions.length > 0)
    await consumer.stop()
    expect(regions).toEqual([3])
  })

  it('wakes for an append of its own process without waiting for the next poll', async () => {
    const log = openLmdbLog(environment, systemClock, { pollMs: 3_600_000 })
    let taken = 0
    const consumer = await log.consumeFlushes({
      async persist(batch) {
        taken += batch.messages.length
      },
    })
    for (let message = 1; message <= 5; message++) {
      await log.appendFlushes([{ region: 1, keys: [keyOf('1', String(message))] }])
      await until('the message', () => taken === message)
    }
    await consumer.stop()
  })

  it('two consumers of one process take turns', async () => {
    const log = openLmdbLog(environment, systemClock)
    const hooks = { persist: () => Promise.resolve() }
    const first = await log.consumeFlushes(hooks)
    const second = await log.consumeFlushes(hooks)
    await until('the first owns all', () => first.ownedRegions().length === 4)
    expect(second.ownedRegions()).toEqual([])
    await first.stop()
    await until('the second owns all', () => second.ownedRegions().length === 4)
    expect(first.ownedRegions()).toEqual([])
    await second.stop()
  })

  it('a consumer that continues before an erased reward misses nothing, and a trimmed reward still counts as missed', async () => {
    const log = openLmdbLog(environment, systemClock, { rewardsMax: 4 })
    await log.appendRewards(['1', '7', '7', '2'].map((viewer) => rewardOf(viewer, 1, 1)))
    await openLogTraces(environment, 'history').erase('7', 0)
    const page = async (cursor: string) => {
      const { events, missedCount } = await readRewardEvents(log, cursor, 9)
      return { viewers: events.map(({ reward }) => reward.viewer), missedCount }
    }
    expect(await page('1')).toEqual({ viewers: ['2'], missedCount: 0 })
    await openLogTraces(environment, 'history').erase('2', 0)
    expect(await page('1')).toEqual({ viewers: [], missedCount: 0 })
    await log.appendRewards(['3', '4'].map((viewer) => rewardOf(viewer, 1, 1)))
    expect(await page('2')).toEqual({ viewers: ['3', '4'], missedCount: 0 })
    expect(await page('1')).toEqual({ viewers: ['3', '4'], missedCount: 1 })
  })

  it('keeps the newest rewards, with continuous numbers', async () => {
    const log = openLmdbLog(environment, systemClock, { rewardsMax: 3 })
    const reward = (day: number) => rewardOf('1', 1, day)
    await log.appendRewards([reward(1), reward(2)])
    await log.appendRewards([reward(3), reward(4)])
    const read = async (after: number) => {
      const { rewards = [], last } = (await log.readRewards?.(after, 10)) ?? {}
      return { numbers: rewards.map(({ number, reward: { day } }) => [number, day]), last }
    }
    expect(await read(0)).toEqual({
      numbers: [
        [2, 2],
        [3, 3],
        [4, 4],
      ],
      last: 4,
    })
    expect(await read(3)).toEqual({ numbers: [[4, 4]], last: 4 })
    const page = async (cursor: string | undefined, first: number) => {
      const { events, ...rest } = await readRewardEvents(log, cursor, first)
      return { days: events.map((each) => each.reward.day), ...rest, end: events.at(-1)?.cursor }
    }
    expect(await page(undefined, 2)).toEqual({ days: [2, 3], missedCount: 0, hasNextPage: true, end: '3' })
    expect(await page('3', 2)).toEqual({ days: [4], missedCount: 0, hasNextPage: false, end: '4' })
    expect(await page('4', 2)).toEqual({ days: [], missedCount: 0, hasNextPage: false, end: undefined })
    // Two more remove what a slow consumer has not read.
    await log.appendRewards([reward(5), reward(6)])
    expect(await page('1', 9)).toEqual({ days: [4, 5, 6], missedCount: 2, hasNextPage: false, end: '6' })
    await expect(page('7', 1)).rejects.toMatchObject({
      code: 'CURSOR_INVALID',
      message: expect.stringContaining('"7" belongs to no event, because it is ahead of all events'),
    })
    await expect(page('-1', 1)).rejects.toMatchObject({ code: 'CURSOR_INVALID' })
  })
})
