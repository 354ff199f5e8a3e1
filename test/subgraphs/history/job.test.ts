import { setImmediate as turn } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ProgressKey } from '../../../core/domain.ts'
import { persistKeys } from '../../../subgraphs/history/persist/persist.ts'
import { keyText } from '../../../core/progress-key.ts'
import { makeLogState, openModelLog } from '../../../harness/simulation/model-log.ts'
import { openGate } from '../../../harness/simulation/gate.ts'
import { makeSteppedClock, type SteppedClock } from '../../../harness/stepped-clock.ts'
import { startHistoryJob, type HistoryJob, type HistoryJobOptions } from '../../../subgraphs/history/persist/job.ts'
import { makeSwitchedStores, type SwitchedStores } from '../switched-stores.ts'

const DAY = 86_400_000
/** The sweeper and the purge run so rarely that a test has only the rounds it waits for. */
const options: HistoryJobOptions = {
  sweepAfterMs: 1_000,
  sweepEveryMs: 10 * DAY,
  persistKeysMax: 3,
  retentionMs: undefined,
  purgeEveryMs: DAY,
}

describe('the job', () => {
  let stores: SwitchedStores
  let clock: SteppedClock
  let errors: unknown[]
  /** The keys of each persist step. */
  let steps: string[][]
  beforeEach(() => {
    stores = makeSwitchedStores()
    clock = makeSteppedClock()
    errors = []
    steps = []
  })

  const keyOf = (oid: string): ProgressKey => ({ viewer: '7', business: 1, oid })
  function watch(oid: string): ProgressKey {
    const viewedAt = clock.now()
    const record = { viewedAt, since: 0, rank: 1, version: 0, position: 1, duration: 0, device: '', finished: false, deleted: false }
    stores.state.put({ ...keyOf(oid), record, decisive: true }, { now: viewedAt, timelineCap: 10_000 })
    return keyOf(oid)
  }
  const persist = (keys: readonly ProgressKey[]) => {
    steps.push(keys.map((key) => key.oid))
    return persistKeys(stores, keys, { timelineCap: 10_000, purgeRowsMax: 100 })
  }
  function start(over: Partial<HistoryJobOptions> = {}): Promise<HistoryJob> {
    const log = openModelLog(stores.logState, openGate, clock)
    return startHistoryJob(clock, stores.hot, log, stores.records, persist, { ...options, ...over }, (error) => errors.push(error))
  }
  async function settle(): Promise<void> {
    for (let i = 0; i < 20; i++) await turn()
  }
  const rows = () => [...stores.rows.values()].map(({ key }) => key.oid).sort()

  test('persists the keys of a flush in steps, and commits the flush', async () => {
    const keys = ['a', 'b', 'c', 'd', 'e'].map(watch)
    const job = await start()
    stores.logState.append({ region: 3, keys })
    await settle()
    expect(steps).toEqual([
      ['a', 'b', 'c'],
      ['d', 'e'],
    ])
    expect(rows()).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect([stores.logState.lag(), stores.state.countDirty()]).toEqual([0, 0])
    expect(job.figures()).toEqual({ messages: 1, steps: 2, rows: 5, missing: 0, swept: 0, expired: 0, parked: 0 })
    await job.stop()
  })

  test('a flush that cannot be persisted is not committed, and is delivered again until it is', async () => {
    const keys = [watch('a')]
    stores.set('records', 'down')
    const job = await start()
    stores.logState.append({ region: 3, keys })
    await settle()
    for (let again = 0; again < 3; again++) {
      expect([stores.logState.lag(), stores.state.countDirty(), job.figures().messages]).toEqual([1, 1, 0])
      clock.advance(20)
      await settle()
    }
    expect(steps).toHaveLength(4)
    stores.set('records', 'up')
    clock.advance(20)
    await settle()
    expect(rows()).toEqual(['a'])
    expect([stores.logState.lag(), stores.state.countDirty(), job.figures().messages]).toEqual([0, 0, 1])
    await job.stop()
  })

  test('a flush with a failed second step is not committed', async () => {
    const keys = ['a', 'b', 'c', 'd'].map(watch)
    const job = await start()
    const putProgress = stores.records.putProgress
    let fails = true
    stores.records.putProgress = (incoming) => {
      if (fails && incoming.some(({ key }) => key.oid === 'd')) return Promise.reject(new Error('a row too many'))
      return putProgress(incoming)
    }
    stores.logState.append({ region: 3, keys })
    await settle()
    expect([rows(), stores.logState.lag()]).toEqual([['a', 'b', 'c'], 1])
    fails = false
    clock.advance(20)
    await settle()
    expect([rows(), stores.logState.lag()]).toEqual([['a', 'b', 'c', 'd'], 0])
    await job.stop()
  })

  test('a message that cannot be decoded is reported and counted, and later messages are persisted', async () => {
    const keys = [watch('a')]
    const job = await start()
    stores.logState.appendUnreadable(3)
    stores.logState.append({ region: 3, keys })
    await settle()
    expect(job.figures()).toMatchObject({ parked: 1, messages: 1 })
    expect(errors).toMatchObject([{ message: 'a message of the model is unreadable' }])
    await job.stop()
  })

  test('sweeps a key that no flush carried', async () => {
    watch('a')
    const job = await start({ sweepEveryMs: 1_500 })
    await settle()
    expect(rows()).toEqual([])
    clock.advance(1_500)
    await settle()
    expect([rows(), job.figures().swept]).toEqual([['a'], 1])
    await job.stop()
  })

  test('purges from both stores only records last written before the retention', async () => {
    await persist([watch('old')])
    clock.advance(DAY)
    await persist([watch('young')])
    const job = await start({ retentionMs: DAY + 1 })
    await settle()
    clock.advance(DAY)
    await settle()
    expect(rows()).toEqual(['young'])
    expect(['old', 'young'].map((oid) => stores.state.recordOf(keyOf(oid)) !== undefined)).toEqual([false, true])
    expect(job.figures().expired).toBe(1)
    await job.stop()
  })

  test('purges all expired records in one round, and newly expired records in the next', async () => {
    for (let n = 0; n < 2_500; n++) watch(String(n))
    await persist(stores.state.listDirty([3], clock.now(), 5_000))
    const job = await start({ retentionMs: DAY / 2 })
    await settle()
    clock.advance(DAY)
    await settle()
    expect([stores.rows.size, job.figures().expired]).toEqual([0, 2_500])
    expect(stores.state.list('7', [1], undefined, 10).entries).toEqual([])
    await persist([watch('next')])
    clock.advance(DAY)
    await settle()
    expect([stores.rows.size, job.figures().expired]).toEqual([0, 2_501])
    await job.stop()
  })

  test('one of several jobs purges, and another takes over when it is gone', async () => {
    const logState = makeLogState({ regions: 4, partitions: 2, batchMax: 100, retryMs: 20, faults: {} })
    const purges = [0, 0]
    const startCounting = (job: number) => {
      const hot = {
        ...stores.hot,
        purgeExpired: async (before: number, limit: number) => (purges[job]!++, stores.hot.purgeExpired(before, limit)),
      }
      const log = openModelLog(logState, openGate, clock)
      return startHistoryJob(clock, hot, log, stores.records, persist, { ...options, retentionMs: DAY / 2 }, (error) => errors.push(error))
    }
    const jobs = [await startCounting(0), await startCounting(1)]
    await settle()
    clock.advance(DAY)
    await settle()
    expect(purges.toSorted((a, b) => a - b)).toEqual([0, 1])
    const purger = purges.indexOf(1)
    await jobs[purger]?.stop()
    await settle()
    clock.advance(DAY)
    await settle()
    expect(purges).toEqual([1, 1])
    await jobs[1 - purger]?.stop()
  })

  test('never purges an unpersisted record', async () => {
    watch('dirty')
    const job = await start({ retentionMs: 1 })
    await settle()
    clock.advance(DAY)
    await settle()
    expect(stores.state.recordOf(keyOf('dirty'))).toBeDefined()
    await job.stop()
  })

  test('a purge that fails is reported and retried in the next round', async () => {
    await persist([watch('old')])
    const job = await start({ retentionMs: DAY / 2 })
    await settle()
    stores.set('records', 'down')
    clock.advance(DAY)
    await settle()
    expect(errors).toMatchObject([{ code: 'RECORD_STORE_UNAVAILABLE' }])
    stores.set('records', 'up')
    clock.advance(DAY)
    await settle()
    expect(stores.rows.has(keyText(keyOf('old')))).toBe(false)
    expect(stores.state.recordOf(keyOf('old'))).toBeUndefined()
    await job.stop()
  })

  test('purges nothing without a retention', async () => {
    await persist([watch('old')])
    const job = await start()
    clock.advance(5 * DAY)
    await settle()
    expect(stores.calls.filter((call) => call.endsWith('.purgeExpired'))).toEqual([])
    await job.stop()
  })

  test('stopped, it has left the group and waits for nothing', async () => {
    const job = await start({ retentionMs: DAY })
    expect(stores.logState.members.size).toBe(1)
    await job.stop()
    expect([stores.logState.members.size, clock.pending()]).toEqual([0, 0])
    stores.logState.append({ region: 3, keys: [watch('a')] })
    clock.advance(20 * DAY)
    await settle()
    expect(steps).toEqual([])
  })
})
