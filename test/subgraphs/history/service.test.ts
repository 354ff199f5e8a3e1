import { beforeEach, describe, expect, test } from 'vitest'
import { makeAggregator, type RegionKeys } from '../../../writeback/aggregator.ts'
import { makeBusinesses } from '../../../config/businesses.ts'
import { dayTokenOf } from '../../../core/rewards.ts'
import { utcDayOf } from '../../../core/days.ts'
import type { ProgressKey } from '../../../core/domain.ts'
import { sweptHistory } from '../../../subgraphs/history/persist/job.ts'
import { persistKeys } from '../../../subgraphs/history/persist/persist.ts'
import { keyText, settingsKey } from '../../../core/progress-key.ts'
import { regionOf } from '../../../core/regions.ts'
import { rewardOf } from '../../../core/rewards.ts'
import { makeSweeper } from '../../../writeback/sweeper.ts'
import type { HotStore } from '../../../subgraphs/history/stores/hot-store.ts'
import type { RecordStore } from '../../../subgraphs/history/stores/record-store.ts'
import { makeFlusher } from '../../../writeback/flusher.ts'
import type { ReportProgressInput } from '../../../subgraphs/history/inputs.ts'
import { makeHistoryService } from '../../../subgraphs/history/write/service.ts'
import { openGate } from '../../../harness/simulation/gate.ts'
import { makeHotState, type HotState } from '../../../harness/simulation/history/model-hot-state.ts'
import { openModelHotStore } from '../../../harness/simulation/history/model-hot-store.ts'
import { makeLogState, openModelLog } from '../../../harness/simulation/model-log.ts'
import { makeRecordState, openModelRecordStore, type RecordState } from '../../../harness/simulation/history/model-record-store.ts'
import { makeSteppedClock, type SteppedClock } from '../../../harness/stepped-clock.ts'

const utc = (business: number) => ({ timeZone: 'UTC', business })

const REGIONS = 4
const CAP = 3
const viewer = { id: '7', scopes: [] }
const businesses = makeBusinesses([
  { number: 1, name: 'video', entity: 'Video', conflict: 'newest', glanceMax: 5_000, finishedPercent: 95 },
  { number: 2, name: 'article', entity: 'Article', conflict: 'newest', glanceMax: 5, finishedPercent: 95 },
])
const keyOf = (oid: string): ProgressKey => ({ viewer: '7', business: 1, oid })

describe('the history service', () => {
  let clock: SteppedClock
  let state: HotState
  let rows: RecordState
  let logState: ReturnType<typeof makeLogState>
  let hot: HotStore
  let records: RecordStore
  let flushed: RegionKeys[]
  let errors: unknown[]
  beforeEach(() => {
    clock = makeSteppedClock()
    rows = makeRecordState()
    state = makeHotState({ regions: REGIONS, clearing: 'forgets', faults: {} })
    logState = makeLogState({ regions: REGIONS, partitions: 1, batchMax: 10, retryMs: 10, faults: {} })
    hot = openModelHotStore(state, openGate)
    records = openModelRecordStore(rows, openGate)
    flushed = []
    errors = []
  })

  /** A service whose aggregator flushes each key at once; `flushed` has the keys for the log. */
  function serve(overHot: HotStore = hot, overRecords: RecordStore = records) {
    const log = openModelLog(logState, openGate, clock)
    const flusher = makeFlusher(
      overHot,
      log,
      () => Promise.resolve(),
      { directMax: 1 },
      (error) => errors.push(error),
    )
    const aggregator = makeAggregator(clock, (regions) => flushed.push(...regions), { keysMax: 1, ageMaxMs: 1_000, heldMax: 100 })
    const options = { regions: REGIONS, timelineCap: CAP }
    const service = makeHistoryService(clock, businesses, overHot, overRecords, aggregator, flusher.reward, options)
    return { service, flusher, log }
  }
  const report = (id: string, more: Partial<ReportProgressInput> = {}): ReportProgressInput => ({
    business: 'video',
    id,
    position: 60_000,
    ...more,
  })
  const flushedKeys = () => flushed.flatMap(({ region, keys }) => keys.map((key) => ({ region, key })))
  async function persist(keys: readonly ProgressKey[] = state.listDirty([0, 1, 2, 3], Number.MAX_SAFE_INTEGER, 100)): Promise<void> {
    await persistKeys({ hot, records }, keys, { timelineCap: CAP, purgeRowsMax: 100 })
  }
  /** Subject 'old' is in the record store only, because six newer subjects followed it. */
  async function trimOld(service: ReturnType<typeof serve>['service']): Promise<void> {
    const now = clock.now()
    await service.report(viewer, [report('old', { position: 10_000, viewedAt: now - 10_000 })], new Set())
    for (let n = 1; n <= 6; n++) await service.report(viewer, [report(String(n), { viewedAt: now - 1_000 + n })], new Set())
    await persist()
    expect(state.recordOf(keyOf('old'))).toBeUndefined()
    expect(rows.rows.has(keyText(keyOf('old')))).toBe(true)
  }

  test('a glance at a trimmed subject keeps the resume point of the record store', async () => {
    const { service } = serve()
    await trimOld(service)
    const [answer] = await service.report(viewer, [report('old', { position: 1 })], new Set())
    expect(answer).toMatchObject({ outcome: 'ACCEPTED', record: { position: 10_000, viewedAt: clock.now() } })
  })

  test('a base that another device outdates during the read is read again, and that device loses nothing', async () => {
    let reads = 0
    const outdating: RecordStore = {
      ...records,
      async getProgressMany(keys) {
        const found = await records.getProgressMany(keys)
        if (++reads === 1) await reportOfOtherDevice(20_000, 9_000)
        return found
      },
    }
    const { service } = serve(hot, outdating)
    await trimOld(service)
    const [answer] = await service.report(viewer, [report('old', { position: 1 })], new Set())
    expect(reads).toBe(2)
    expect(answer).toMatchObject({ outcome: 'ACCEPTED', record: { position: 20_000, viewedAt: clock.now() } })
    await persist()
    expect(state.lookUp(keyOf('old')).record?.position).toBe(20_000)
  })

  test('a base that is outdated on every read is given up, and nothing changes', async () => {
    let reads = 0
    const outdating: RecordStore = {
      ...records,
      async getProgressMany(keys) {
        const found = await records.getProgressMany(keys)
        reads++
        await reportOfOtherDevice(20_000 + reads, 9_000 - reads)
        return found
      },
    }
    const { service } = serve(hot, outdating)
    await trimOld(service)
    flushed = []
    await expect(service.report(viewer, [report('old', { position: 1 })], new Set())).rejects.toThrow('changed 20 times while it was read')
    expect(reads).toBe(20)
    expect(state.recordOf(keyOf('old'))).toBeUndefined()
    expect(flushedKeys()).toEqual([])
  })

  /** Another process accepts and persists the report. It is older than every held record, so it is trimmed at once. */
  async function reportOfOtherDevice(position: number, agoMs: number): Promise<void> {
    const viewedAt = clock.now() - agoMs
    const record = {
      viewedAt,
      since: 0,
      rank: 2 ** 42 + viewedAt,
      version: 0,
      position,
      duration: 0,
      device: '',
      finished: false,
      deleted: false,
    }
    const base = rows.rows.get(keyText(keyOf('old')))?.record ?? null
    const outcome = state.put({ ...keyOf('old'), record, decisive: true, base }, { now: clock.now(), timelineCap: CAP })
    expect(outcome.status).toBe('written')
    await persist([keyOf('old')])
    expect(state.recordOf(keyOf('old'))).toBeUndefined()
  }

  test('a report reaches the aggregator under the region of its viewer', async () => {
    const { service } = serve()
    await service.report(viewer, [report('1')], new Set())
    expect(flushedKeys()).toEqual([{ region: regionOf('7', REGIONS), key: keyOf('1') }])
  })

  test('a deletion reaches the aggregator, even for a subject that the hot store did not hold', async () => {
    const { service } = serve()
    await service.report(viewer, [report('1')], new Set())
    flushed = []
    expect(await service.deleteHistory(viewer, 'video', ['1', 'unknown'], new Set())).toEqual(['1'])
    expect(flushedKeys()).toEqual(['1', 'unknown'].map((oid) => ({ region: 3, key: keyOf(oid) })))
    await persist(flushedKeys().map(({ key }) => key))
    expect(state.countDirty()).toBe(0)
    expect([...rows.rows.values()].map(({ record }) => record.deleted)).toEqual([true, true])
  })

  test('a clearing and a pause reach the aggregator as the settings of the viewer', async () => {
    const { service } = serve()
    const clearedAt = await service.clearHistory(viewer, 'article', new Set())
    expect(flushedKeys()).toEqual([{ region: 3, key: settingsKey('7') }])
    await service.setPaused(viewer, true, new Set())
    expect(flushedKeys()).toHaveLength(2)
    await persist(flushedKeys().map(({ key }) => key))
    expect(rows.settings.get('7')).toMatchObject({ paused: true, clearedAt: { 2: clearedAt } })
    expect(state.countDirty()).toBe(0)
  })

  test('a call that changes nothing reaches no aggregator', async () => {
    const { service } = serve()
    await service.report(viewer, [report('1')], new Set())
    flushed = []
    const stale = await service.report(viewer, [report('1', { viewedAt: clock.now() - 5 })], new Set())
    const rejected = await service.report(viewer, [report('')], new Set())
    expect([stale[0]?.outcome, rejected[0]?.outcome]).toEqual(['STALE', 'REJECTED'])
    expect(await service.deleteHistory(viewer, 'video', [], new Set())).toEqual([])
    expect(flushedKeys()).toEqual([])
    await service.setPaused(viewer, true, new Set())
    flushed = []
    expect((await service.report(viewer, [report('1')], new Set()))[0]).toEqual({ outcome: 'PAUSED', key: keyOf('1') })
    expect(flushedKeys()).toEqual([])
  })

  test('an accepted report brings the day token, and a stale report does not, because its day was not checked', async () => {
    const { service } = serve()
    const token = dayTokenOf('7', utc(1), utcDayOf(clock.now()))
    const [accepted] = await service.report(viewer, [report('1')], new Set())
    expect(accepted).toMatchObject({ outcome: 'ACCEPTED', dayToken: token, firstOfDay: true })
    const [stale] = await service.report(viewer, [report('1', { viewedAt: clock.now() - 5 })], new Set())
    expect(stale).toMatchObject({ outcome: 'STALE', record: { position: 60_000 } })
    expect(stale !== undefined && 'dayToken' in stale ? (stale.dayToken ?? undefined) : undefined).toBeUndefined()
  })

  test('only the first view of a day and business earns a reward', async () => {
    const { service, flusher } = serve()
    const day = utcDayOf(clock.now())
    const answers = await service.report(viewer, [report('1'), report('2'), report('3', { business: 'article' })], new Set())
    expect(answers.map((answer) => 'firstOfDay' in answer && answer.firstOfDay)).toEqual([true, false, true])
    await flusher.settled()
    expect(logState.rewards).toEqual([rewardOf('7', 1, day), rewardOf('7', 2, day)])
    expect(state.listRewards([0, 1, 2, 3], clock.now(), 10)).toEqual([])
  })

  test('a reward that was appended and not confirmed is swept under the same id', async () => {
    const forgetful: HotStore = { ...hot, confirmRewards: () => Promise.reject(new Error('the process died')) }
    const { service, flusher, log } = serve(forgetful)
    await service.report(viewer, [report('1')], new Set())
    await flusher.settled()
    expect(errors).toHaveLength(1)
    expect(logState.rewards).toHaveLength(1)
    clock.advance(1_000)
    const sweeper = makeSweeper(clock, sweptHistory(hot), log, () => [0, 1, 2, 3], persist, { afterMs: 500, everyMs: 100, keysMax: 10 })
    expect((await sweeper.sweep()).rewards).toBe(1)
    expect(logState.rewards).toHaveLength(2)
    expect(logState.rewards[1]).toEqual(logState.rewards[0])
    expect(state.listRewards([0, 1, 2, 3], clock.now(), 10)).toEqual([])
  })

  test('answers have the order of the inputs, with some invalid, and are counted', async () => {
    const { service } = serve()
    const answers = await service.report(
      viewer,
      [report('1'), report(''), report('1', { viewedAt: clock.now() - 9 }), report('2')],
      new Set(),
    )
    expect(answers.map((answer) => answer.outcome)).toEqual(['ACCEPTED', 'REJECTED', 'STALE', 'ACCEPTED'])
    expect(service.figures()).toEqual({ accepted: 2, stale: 1, paused: 0, rejected: 1 })
  })
})
