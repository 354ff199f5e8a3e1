import { setImmediate as turn } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ProgressKey } from '../../core/domain.ts'
import { sweptHistory } from '../../subgraphs/history/persist/job.ts'
import { persistKeys } from '../../subgraphs/history/persist/persist.ts'
import { makeSweeper, type SweepReport } from '../../writeback/sweeper.ts'
import { makeSteppedClock, type SteppedClock } from '../../harness/stepped-clock.ts'
import { makeSwitchedStores, type SwitchedStores } from '../subgraphs/switched-stores.ts'

const options = { afterMs: 1_000, everyMs: 100, keysMax: 3 }

describe('the sweeper', () => {
  let stores: SwitchedStores
  let clock: SteppedClock
  let owned: number[]
  /** The keys of each persist step. */
  let steps: string[][]
  beforeEach(() => {
    stores = makeSwitchedStores()
    clock = makeSteppedClock()
    owned = [0, 1, 2, 3]
    steps = []
  })

  /** Leaves a dirty mark, and with a day a pending reward. */
  function watch(viewer: string, oid: string, day?: number): void {
    const viewedAt = clock.now()
    const record = { viewedAt, since: 0, rank: 1, version: 0, position: 1, duration: 0, device: '', finished: false, deleted: false }
    const write = { viewer, business: 1, oid, record, decisive: true }
    stores.state.put(day === undefined ? write : { ...write, day }, { now: viewedAt, timelineCap: 100 })
  }
  function persist(keys: readonly ProgressKey[]): Promise<unknown> {
    steps.push(keys.map((key) => key.oid))
    return persistKeys(stores, keys, { timelineCap: 100, purgeRowsMax: 100 })
  }
  const make = (step = persist) => makeSweeper(clock, sweptHistory(stores.hot), stores.log, () => owned, step, options)
  const pending = () => stores.state.listRewards([0, 1, 2, 3], Number.MAX_SAFE_INTEGER, 100).map((event) => event.viewer)
  const sent = () => stores.logState.rewards.map((event) => event.viewer)
  async function settle(): Promise<void> {
    for (let i = 0; i < 10; i++) await turn()
  }

  test('a dirty mark is swept when it is as old as the bound, not before', async () => {
    watch('1', 'a')
    clock.advance(999)
    expect(await make().sweep()).toEqual({ keys: 0, rewards: 0 })
    expect(steps).toEqual([])
    watch('1', 'b')
    clock.advance(1)
    expect(await make().sweep()).toEqual({ keys: 1, rewards: 0 })
    expect(steps).toEqual([['a']])
    expect(stores.state.countDirty()).toBe(1)
    expect(stores.rows.size).toBe(1)
  })

  test('a reward is swept when it is as old as the bound, not before', async () => {
    watch('1', 'a', 5)
    clock.advance(999)
    expect((await make().sweep()).rewards).toBe(0)
    expect(sent()).toEqual([])
    clock.advance(1)
    expect((await make().sweep()).rewards).toBe(1)
    expect(sent()).toEqual(['1'])
    expect(pending()).toEqual([])
  })

  test('regions of others are skipped, and the owned regions are read again each time', async () => {
    watch('1', 'a', 5)
    watch('2', 'b', 5)
    clock.advance(1_000)
    owned = [1]
    const sweeper = make()
    expect(await sweeper.sweep()).toEqual({ keys: 1, rewards: 1 })
    expect([steps, sent(), pending()]).toEqual([[['a']], ['1'], ['2']])
    owned = [2]
    expect(await sweeper.sweep()).toEqual({ keys: 1, rewards: 1 })
    expect([steps, sent(), pending()]).toEqual([[['a'], ['b']], ['1', '2'], []])
  })

  test('one round persists all old marks, a step of keys at a time', async () => {
    for (const oid of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) watch('1', oid)
    clock.advance(1_000)
    expect(await make().sweep()).toEqual({ keys: 7, rewards: 0 })
    expect(steps.map((step) => step.length)).toEqual([3, 3, 1])
    expect(stores.state.countDirty()).toBe(0)
  })

  test('one round sends all old rewards, for any number of them', async () => {
    const viewers = ['0', '1', '2', '3', '4', '5', '6']
    for (const viewer of viewers) watch(viewer, 'a', 5)
    clock.advance(1_000)
    expect((await make().sweep()).rewards).toBe(7)
    expect(sent().sort()).toEqual(viewers)
    expect(pending()).toEqual([])
    expect(stores.calls.filter((call) => call === 'log.appendRewards')).toHaveLength(3)
  })

  test('a reward is confirmed after the log has it', async () => {
    watch('1', 'a', 5)
    clock.advance(1_000)
    await make().sweep()
    expect(stores.calls.filter((call) => /appendRewards|confirmRewards/.test(call))).toEqual(['log.appendRewards', 'hot.confirmRewards'])
  })

  test('rewards the log did not take stay pending and go with a later round', async () => {
    watch('1', 'a', 5)
    clock.advance(1_000)
    stores.set('log', 'down')
    await expect(make().sweep()).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' })
    expect(pending()).toEqual(['1'])
    expect(stores.state.countDirty()).toBe(0)
    stores.set('log', 'up')
    expect((await make().sweep()).rewards).toBe(1)
    expect([sent(), pending()]).toEqual([['1'], []])
  })

  test('rewards go to the log although keys cannot be persisted, and the round still reports the failure', async () => {
    watch('1', 'a', 5)
    clock.advance(1_000)
    stores.set('records', 'down')
    await expect(make().sweep()).rejects.toMatchObject({ code: 'RECORD_STORE_UNAVAILABLE' })
    expect([sent(), pending()]).toEqual([['1'], []])
    expect(stores.state.countDirty()).toBe(1)
  })

  test('rounds come at their interval, and continue after a failed one', async () => {
    const reports: SweepReport[] = []
    const errors: unknown[] = []
    const sweeper = make()
    watch('1', 'a')
    clock.advance(1_000)
    stores.set('records', 'down')
    sweeper.start(
      (report) => reports.push(report),
      (error) => errors.push(error),
    )
    clock.advance(99)
    await settle()
    expect([reports, errors, steps]).toEqual([[], [], []])
    clock.advance(1)
    await settle()
    expect(reports).toEqual([])
    expect(errors).toMatchObject([{ code: 'RECORD_STORE_UNAVAILABLE' }])
    stores.set('records', 'up')
    clock.advance(100)
    await settle()
    expect(reports).toEqual([{ keys: 1, rewards: 0 }])
    clock.advance(100)
    await settle()
    expect(reports).toHaveLength(2)
    expect(errors).toHaveLength(1)
    await sweeper.stop()
    expect(clock.pending()).toBe(0)
  })

  test('stopping waits for the step under way, starts no other, and schedules no further round', async () => {
    for (const oid of ['a', 'b', 'c', 'd']) watch('1', oid)
    clock.advance(1_000)
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const sweeper = make(async (keys) => {
      await held
      await persist(keys)
    })
    const reports: SweepReport[] = []
    const errors: unknown[] = []
    sweeper.start(
      (report) => reports.push(report),
      (error) => errors.push(error),
    )
    clock.advance(100)
    await settle()
    let isStopped = false
    const stopping = sweeper.stop().then(() => {
      isStopped = true
    })
    await settle()
    expect(isStopped).toBe(false)
    release()
    await stopping
    expect(steps).toEqual([['a', 'b', 'c']])
    expect(stores.rows.size).toBe(3)
    expect([reports, errors]).toEqual([[{ keys: 3, rewards: 0 }], []])
    expect(clock.pending()).toBe(0)
  })

  test('stopped before its first round it never sweeps', async () => {
    watch('1', 'a')
    clock.advance(1_000)
    const sweeper = make()
    sweeper.start(
      () => undefined,
      () => undefined,
    )
    await sweeper.stop()
    clock.advance(10_000)
    await settle()
    expect(steps).toEqual([])
  })
})
