/** Clock differences between devices and the server, and between two processes that serve one viewer. */
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { makeAggregator } from '../../../writeback/aggregator.ts'
import { makeBusinesses } from '../../../config/businesses.ts'
import { persistKeys } from '../../../subgraphs/history/persist/persist.ts'
import type { HotStore } from '../../../subgraphs/history/stores/hot-store.ts'
import type { RecordStore } from '../../../subgraphs/history/stores/record-store.ts'
import type { ReportProgressInput } from '../../../subgraphs/history/inputs.ts'
import { makeHistoryService, type HistoryService, type ReportAnswer } from '../../../subgraphs/history/write/service.ts'
import type { StageWritten } from '../../../core/written-reports.ts'
import { openGate } from '../../../harness/simulation/gate.ts'
import { makeHotState, type HotState } from '../../../harness/simulation/history/model-hot-state.ts'
import { openModelHotStore } from '../../../harness/simulation/history/model-hot-store.ts'
import { makeRecordState, openModelRecordStore } from '../../../harness/simulation/history/model-record-store.ts'
import { makeSteppedClock, type SteppedClock } from '../../../harness/stepped-clock.ts'

const viewer = { id: '7', scopes: [] }
const CAP = 3
const MINUTES_5 = 300_000
const businesses = makeBusinesses([
  { number: 1, name: 'video', entity: 'Video', conflict: 'newest', glanceMax: 5_000, finishedPercent: 95 },
  { number: 2, name: 'comic', entity: 'Comic', conflict: 'furthest', glanceMax: 5, finishedPercent: 95 },
])

let clock: SteppedClock
let state: HotState
let hot: HotStore
let records: RecordStore
beforeEach(() => {
  clock = makeSteppedClock()
  state = makeHotState({ regions: 4, clearing: 'forgets', faults: {} })
  hot = openModelHotStore(state, openGate)
  records = openModelRecordStore(makeRecordState(), openGate)
})

/** A process whose clock differs by this many milliseconds. */
function serve(offMs = 0, stageWritten?: StageWritten): HistoryService {
  const own = { ...clock, now: () => clock.now() + offMs }
  const aggregator = makeAggregator(own, () => undefined, { keysMax: 1_000, ageMaxMs: 1_000, heldMax: 1_000 })
  const options = { regions: 4, timelineCap: CAP }
  return makeHistoryService(own, businesses, hot, records, aggregator, () => undefined, options, undefined, stageWritten)
}

const input = (id: string, more: Partial<ReportProgressInput> = {}): ReportProgressInput => ({
  business: 'video',
  id,
  position: 60_000,
  ...more,
})

async function send(service: HistoryService, report: ReportProgressInput): Promise<ReportAnswer> {
  const [answer] = await service.report(viewer, [report], new Set())
  return answer as ReportAnswer
}

async function shown(): Promise<{ oid: string; position: number; viewedAt: number }[]> {
  const { entries } = await hot.listTimeline(viewer.id, [1, 2], undefined, 100)
  return entries.map(({ oid, record }) => ({ oid, position: record.position, viewedAt: record.viewedAt }))
}

async function persist(): Promise<void> {
  await persistKeys({ hot, records }, state.listDirty([0, 1, 2, 3], Number.MAX_SAFE_INTEGER, 100), { timelineCap: CAP, purgeRowsMax: 100 })
}

describe('a device whose clock is ahead', () => {
  test('has its times capped at the server clock, however far it is ahead', async () => {
    const service = serve()
    for (const ahead of [1, 290_000, 1e12]) {
      const answer = await send(service, input('1', { viewedAt: clock.now() + ahead }))
      expect(answer).toMatchObject({ outcome: 'ACCEPTED', record: { viewedAt: clock.now() } })
      clock.advance(1_000)
    }
  })

  test('loses no report made after a clearing or a deletion', async () => {
    const service = serve()
    for (const remove of [
      () => service.clearHistory(viewer, 'video', new Set()),
      () => service.deleteHistory(viewer, 'video', ['1'], new Set()),
    ]) {
      await send(service, input('1', { viewedAt: clock.now() + 290_000 }))
      await remove()
      let lost = 0
      for (let beat = 0; beat < 20; beat++) {
        clock.advance(15_000)
        const answer = await send(service, input('1', { position: 10_000 + beat }))
        if (answer.outcome !== 'ACCEPTED' || answer.record?.position !== 10_000 + beat) lost++
      }
      expect(lost).toBe(0)
    }
  })

  test('does not stop another device from moving the resume point', async () => {
    const service = serve()
    await send(service, input('1', { viewedAt: clock.now() + 290_000, position: 90_000 }))
    clock.advance(1)
    expect(await send(service, input('1', { position: 20_000 }))).toMatchObject({ outcome: 'ACCEPTED', record: { position: 20_000 } })
  })

  test('has its reports of one call ordered by its own times', async () => {
    const service = serve()
    const now = clock.now()
    const ahead = (oid: string, byMs: number, position: number) => input(oid, { viewedAt: now + byMs, position })
    const answers = await service.report(viewer, [ahead('1', 900, 70_000), ahead('2', 800, 60_000), ahead('1', 100, 50_000)], new Set())
    expect(answers.map(({ outcome }) => outcome)).toEqual(['ACCEPTED', 'ACCEPTED', 'STALE'])
    expect(await shown()).toMatchObject([
      { oid: '1', position: 70_000, viewedAt: now },
      { oid: '2', position: 60_000 },
    ])
  })
})

describe('two processes whose clocks differ', () => {
  for (const [apart, ms] of [
    ['200 ms', 200],
    ['3 s', 3_000],
    ['5 min', MINUTES_5],
  ] as const) {
    test(`by ${apart}: a report through the slower clock after a clearing through the faster clock is kept`, async () => {
      const [ahead, behind] = [serve(ms), serve()]
      await send(ahead, input('1'))
      const clearedAt = await ahead.clearHistory(viewer, 'video', new Set())
      clock.advance(10)
      const answer = await send(behind, input('1', { position: 12_000 }))
      expect(answer).toMatchObject({ outcome: 'ACCEPTED', record: { position: 12_000, viewedAt: clearedAt + 1 } })
      expect(await shown()).toMatchObject([{ oid: '1', position: 12_000 }])
      clock.advance(10)
      expect(await send(behind, input('1', { position: 13_000 }))).toMatchObject({ outcome: 'ACCEPTED', record: { position: 13_000 } })
      expect(await behind.clearHistory(viewer, 'video', new Set())).toBeGreaterThan(clearedAt)
      expect(await shown()).toEqual([])
    })

    test(`by ${apart}: a resume point set through the faster clock can be moved through the slower clock, and back`, async () => {
      const [ahead, behind] = [serve(ms), serve()]
      for (const [service, position] of [
        [ahead, 50_000],
        [behind, 20_000],
        [ahead, 30_000],
        [behind, 10_000],
      ] as const) {
        expect(await send(service, input('1', { position }))).toMatchObject({ outcome: 'ACCEPTED', record: { position } })
        clock.advance(5)
      }
      await behind.deleteHistory(viewer, 'video', ['1'], new Set())
      expect(await shown()).toEqual([])
      expect(await send(behind, input('1', { position: 6_000 }))).toMatchObject({ outcome: 'ACCEPTED', record: { position: 6_000 } })
    })

    test(`by ${apart}: a late report from before the clearing does not come back, through either process`, async () => {
      const [ahead, behind] = [serve(ms), serve()]
      const viewedAt = clock.now() - 50
      await send(ahead, input('1', { viewedAt }))
      await ahead.clearHistory(viewer, 'video', new Set())
      for (const service of [behind, ahead]) expect(await send(service, input('1', { viewedAt }))).toMatchObject({ outcome: 'STALE' })
      expect(await shown()).toEqual([])
    })
  }

  test('a report in the same millisecond as a clearing or a deletion is kept', async () => {
    const service = serve()
    await service.clearHistory(viewer, 'video', new Set())
    expect(await send(service, input('1'))).toMatchObject({ outcome: 'ACCEPTED' })
    await service.deleteHistory(viewer, 'video', ['1'], new Set())
    expect(await send(service, input('1'))).toMatchObject({ outcome: 'ACCEPTED' })
  })
})

describe('the answer to a stale report', () => {
  test('names the clearing and its time if the report is older than a clearing', async () => {
    const service = serve()
    await send(service, input('1'))
    clock.advance(10)
    const clearedAt = await service.clearHistory(viewer, 'video', new Set())
    const answer = await send(service, input('2', { viewedAt: clock.now() - 1_000 }))
    expect(answer).toMatchObject({ outcome: 'STALE', record: undefined, clearedAt })
  })

  test('names the time of the deletion if the report is older than a deletion', async () => {
    const service = serve()
    await send(service, input('1'))
    clock.advance(10)
    await service.deleteHistory(viewer, 'video', ['1'], new Set())
    const answer = await send(service, input('1', { viewedAt: clock.now() - 5 }))
    expect(answer).toMatchObject({ outcome: 'STALE', record: undefined, clearedAt: clock.now() })
  })

  test('has the stored record and no clearing if the report is older than the stored record', async () => {
    const service = serve()
    await send(service, input('1'))
    const answer = await send(service, input('1', { viewedAt: clock.now() - 5, position: 9_000 }))
    expect(answer).toMatchObject({ outcome: 'STALE', record: { position: 60_000 }, clearedAt: undefined })
  })

  test('has the newer record behind the hot timeline if the report is older than a clearing', async () => {
    const service = serve()
    const clearedAt = await service.clearHistory(viewer, 'video', new Set())
    clock.advance(1_000)
    for (const oid of ['1', '2', '3', '4', '5', '6']) {
      await send(service, input(oid))
      clock.advance(1_000)
    }
    await persist()
    expect(state.recordOf({ viewer: '7', business: 1, oid: '1' })).toBeUndefined()
    const answer = await send(service, input('1', { viewedAt: clearedAt - 5, position: 9_000 }))
    expect(answer).toMatchObject({ outcome: 'STALE', record: { position: 60_000, viewedAt: clearedAt + 1_000 } })
  })
})

/** Reports arrive in any order, some twice. Among reports with a past time, the newest time wins, regardless of arrival order. */
test('reports of the past end in the same record in any order of arrival, through processes with different clocks', async () => {
  const reportSpec = fc.record({
    age: fc.integer({ min: 3_001, max: 9_000 }),
    oid: fc.constantFrom('1', '2'),
    position: fc.integer({ min: 5_000, max: 90_000 }),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(reportSpec, { selector: ({ age }) => age, minLength: 1, maxLength: 8 }),
      fc.infiniteStream(fc.nat(1_000)),
      async (specs, picks) => {
        const ends: unknown[] = []
        for (let order = 0; order < 3; order++) {
          state = makeHotState({ regions: 4, clearing: 'forgets', faults: {} })
          hot = openModelHotStore(state, openGate)
          const processes = [serve(), serve(3_000), serve(-200)]
          const now = clock.now()
          const left = [...specs, ...specs.slice(0, 3)]
          while (left.length > 0) {
            const [{ age, oid, position }] = left.splice((picks.next().value as number) % left.length, 1) as [(typeof specs)[number]]
            const process = processes[(picks.next().value as number) % processes.length] as HistoryService
            await send(process, input(oid, { viewedAt: now - age, position }))
          }
          ends.push(await shown())
        }
        expect(ends[1]).toEqual(ends[0])
        expect(ends[2]).toEqual(ends[0])
      },
    ),
    { numRuns: 50 },
  )
})

type Step = { what: 'report' | 'past' | 'clear' | 'delete'; process: number; position: number; passes: number }

/** The model: the last writer wins even if clocks differ, and cleared history never comes back. */
test('with any clocks of three processes, the last write of a viewer stands and cleared history stays away', async () => {
  const step: fc.Arbitrary<Step> = fc.record({
    what: fc.constantFrom('report' as const, 'report' as const, 'past' as const, 'clear' as const, 'delete' as const),
    process: fc.nat(2),
    position: fc.integer({ min: 5_000, max: 90_000 }),
    passes: fc.constantFrom(0, 1, 40, 400),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 20 }),
      fc.tuple(fc.integer({ min: -5_000, max: 5_000 }), fc.integer({ min: -300, max: 300 })),
      async (steps, [far, near]) => {
        state = makeHotState({ regions: 4, clearing: 'forgets', faults: {} })
        hot = openModelHotStore(state, openGate)
        const processes = [serve(), serve(far), serve(near)]
        await send(processes[0] as HistoryService, input('1', { position: 7_000 }))
        let expected: number | undefined = 7_000
        for (const { what, process, position, passes } of steps) {
          const service = processes[process] as HistoryService
          if (what === 'report') {
            expect(await send(service, input('1', { position }))).toMatchObject({ outcome: 'ACCEPTED', record: { position } })
            expected = position
          } else if (what === 'past') {
            await send(service, input('1', { position, viewedAt: clock.now() - 100_000 }))
          } else {
            if (what === 'clear') await service.clearHistory(viewer, 'video', new Set())
            else await service.deleteHistory(viewer, 'video', ['1'], new Set())
            expected = undefined
          }
          expect((await shown()).map((entry) => entry.position)).toEqual(expected === undefined ? [] : [expected])
          clock.advance(passes)
        }
      },
    ),
    { numRuns: 200 },
  )
})

test('a report that a process with a faster clock overtook has its play staged once, with the time of its second put', async () => {
  const staged: number[] = []
  const slow = serve(0, async (written) => written.map(({ record }) => void staged.push(record.viewedAt)))
  const first = await send(serve(MINUTES_5), input('1', { position: 10_000 }))
  const second = await send(slow, input('1'))
  expect(second).toMatchObject({ outcome: 'ACCEPTED', record: { position: 60_000 } })
  expect(staged).toEqual([(first as { record: { viewedAt: number } }).record.viewedAt + 1])
})
