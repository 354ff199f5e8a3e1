/** Bugs that the simulator found in the real code, each as the shortest order of events that shows it. */
import { expect, it } from 'vitest'
import { makeAggregator } from '../../writeback/aggregator.ts'
import { makeBusinesses } from '../../config/businesses.ts'
import { systemClock } from '../../core/clock.ts'
import { complete } from '../../core/outage/degraded.ts'
import { persistKeys } from '../../subgraphs/history/persist/persist.ts'
import type { HotStore } from '../../subgraphs/history/stores/hot-store.ts'
import type { RecordStore } from '../../subgraphs/history/stores/record-store.ts'
import { makeFlusher } from '../../writeback/flusher.ts'
import { makeHistoryService, rewardOf } from '../../subgraphs/history/write/service.ts'
import { readTimeline } from '../../subgraphs/history/read/timeline.ts'
import { fillClean, freshViewer, glance, keyOf, later, numbered, report, write, writtenRecord } from '../contracts/reports.ts'
import { openGate } from '../../harness/simulation/gate.ts'
import { makeHotState } from '../../harness/simulation/history/model-hot-state.ts'
import { openModelHotStore } from '../../harness/simulation/history/model-hot-store.ts'
import { makeLogState, openModelLog } from '../../harness/simulation/model-log.ts'
import { makeRecordState, openModelRecordStore } from '../../harness/simulation/history/model-record-store.ts'

const timelineCap = 2
const persistOptions = { timelineCap, purgeRowsMax: 100 }

function openStores(): { hot: HotStore; records: RecordStore } {
  const rows = makeRecordState()
  const state = makeHotState({ regions: 2, clearing: 'forgets', faults: {} })
  return { hot: openModelHotStore(state, openGate), records: openModelRecordStore(rows, openGate) }
}

/** Writes and persists entries `oids`, oldest first. All but the newest two are trimmed. */
async function fillPersisted(
  { hot, records }: { hot: HotStore; records: RecordStore },
  viewer: string,
  oids: readonly string[],
): Promise<void> {
  for (const oid of oids) {
    const now = later(1_000)
    await hot.putProgress([write(viewer, oid, report(now))], { now, timelineCap })
    await persistKeys({ hot, records }, [keyOf(viewer, oid)], persistOptions)
  }
}

it('an entry that was watched again is not listed at its old place too, even if it is persisted and trimmed during the read', async () => {
  const { hot, records } = openStores()
  const viewer = freshViewer()
  await fillPersisted({ hot, records }, viewer, numbered(4))
  const now = later(1_000)
  await hot.putProgress([write(viewer, '1', report(now))], { now, timelineCap })
  const first = await complete((without) => readTimeline(hot, records, viewer, [1], undefined, 2, without))
  expect(first.entries.map((entry) => entry.oid)).toEqual(['1', '4'])
  const last = first.entries[1]
  const meanwhile: RecordStore = {
    ...records,
    async listProgress(...asked) {
      const rows = await records.listProgress(...asked)
      await persistKeys({ hot, records }, [keyOf(viewer, '1')], persistOptions)
      await fillPersisted({ hot, records }, viewer, ['8', '9'])
      return rows
    },
  }
  const place = { viewedAt: last?.record.viewedAt ?? 0, business: 1, oid: '4' }
  const second = await complete((without) => readTimeline(hot, meanwhile, viewer, [1], place, 10, without))
  expect(second.entries.map((entry) => entry.oid)).toEqual(['3', '2'])
})

it.each(['before its row is listed, and persisted', 'after its row is listed'])(
  'an entry that was watched again during a page read, %s, is still on the page',
  async (moment) => {
    const { hot, records } = openStores()
    const viewer = freshViewer()
    await fillPersisted({ hot, records }, viewer, numbered(4))
    const watchAgain = () => hot.putProgress([write(viewer, '1', report(later(1_000)))], { now: later(), timelineCap })
    const meanwhile: RecordStore = {
      ...records,
      async listProgress(...asked) {
        if (moment === 'after its row is listed') {
          const rows = await records.listProgress(...asked)
          await watchAgain()
          return rows
        }
        await watchAgain()
        await persistKeys({ hot, records }, [keyOf(viewer, '1')], persistOptions)
        return records.listProgress(...asked)
      },
    }
    const page = await complete((without) => readTimeline(hot, meanwhile, viewer, [1], undefined, 10, without))
    expect(page.entries.map((entry) => entry.oid)).toEqual(['1', '4', '3', '2'])
  },
)

it('a page read during a clearing shows nothing from before the clearing', async () => {
  const { hot, records } = openStores()
  const viewer = freshViewer()
  await fillPersisted({ hot, records }, viewer, numbered(4))
  const now = later(1_000)
  await hot.putProgress([write(viewer, '1', report(now, { position: 7 }))], { now, timelineCap })
  const meanwhile: RecordStore = {
    ...records,
    async listProgress(...asked) {
      const rows = await records.listProgress(...asked)
      await hot.clearProgress(viewer, 1, later())
      return rows
    },
  }
  const place = { viewedAt: now - 500, business: 1, oid: '9' }
  const page = await complete((without) => readTimeline(hot, meanwhile, viewer, [1], place, 10, without))
  expect(page.entries.filter((entry) => entry.oid === '1')).toEqual([])
})

it('a glance does not hide a resume point that another device set, and had trimmed, while its base was read', async () => {
  const { hot, records } = openStores()
  const viewer = freshViewer()
  await fillPersisted({ hot, records }, viewer, numbered(4))
  const overtaken: RecordStore = {
    ...records,
    async getProgressMany(keys) {
      const bases = await records.getProgressMany(keys)
      if (bases[0]?.position !== 60_000) return bases
      const now = later(1_000)
      await hot.putProgress([write(viewer, '1', report(now, { position: 300_000 }))], { now, timelineCap })
      await persistKeys({ hot, records }, [keyOf(viewer, '1')], persistOptions)
      await fillPersisted({ hot, records }, viewer, ['8', '9'])
      return bases
    },
  }
  const businesses = makeBusinesses([
    { number: 1, name: 'video', entity: 'Video', conflict: 'newest', glanceMax: 5_000, finishedPercent: 95 },
  ])
  const clock = { now: () => later(), after: systemClock.after }
  const aggregator = makeAggregator(clock, () => undefined, { keysMax: 1_000, ageMaxMs: 1_000, heldMax: 1_000 })
  const service = makeHistoryService(clock, businesses, hot, overtaken, aggregator, () => undefined, {
    regions: 2,
    timelineCap,
  })
  const [answer] = await service.report({ id: viewer, scopes: [] }, [{ business: 'video', id: '1', position: 1_000 }], new Set())
  expect(answer).toMatchObject({ outcome: 'ACCEPTED', record: { position: 300_000 } })
  aggregator.flushAll()
})

it('a reward has the same id for the claiming process and for the sweeper that finds it pending', async () => {
  const { hot } = openStores()
  const viewer = freshViewer()
  const now = later(1_000)
  await hot.putProgress([write(viewer, '1', report(now), { day: 20_000 })], { now, timelineCap })
  expect(await hot.listPendingRewards([0, 1], now, 10)).toEqual([rewardOf(viewer, 1, 20_000)])
})

it('settled waits for every direct persist, even when one of them fails at once', async () => {
  const { hot } = openStores()
  const log = openModelLog(makeLogState({ regions: 2, partitions: 1, batchMax: 1, retryMs: 1, faults: {} }), openGate, systemClock)
  const down = { ...log, appendFlushes: () => Promise.reject(new Error('the log is down')) }
  const errors: unknown[] = []
  let finished = false
  const persist = async (keys: readonly { oid: string }[]): Promise<void> => {
    if (keys[0]?.oid === '1') throw new Error('the record store is down')
    await new Promise((resolve) => setTimeout(resolve, 50))
    finished = true
  }
  const flusher = makeFlusher(hot, down, persist, { directMax: 4 }, (error) => errors.push(error))
  flusher.flush([
    { region: 0, keys: [keyOf('2', '1')] },
    { region: 1, keys: [keyOf('1', '2')] },
  ])
  await flusher.settled()
  expect(finished).toBe(true)
  expect(errors).toHaveLength(2)
  expect(flusher.figures()).toMatchObject({ direct: 1, left: 1 })
})

it('a row written by a step that died before it saw the clearing is removed when its message is delivered again', async () => {
  const { hot, records } = openStores()
  const viewer = freshViewer()
  const [record] = await fillClean(hot, viewer, ['1'], timelineCap)
  await hot.clearProgress(viewer, 1, later(1_000))
  if (record === undefined) throw new Error('nothing was written')
  await records.putProgress([{ key: keyOf(viewer, '1'), record }])
  await persistKeys({ hot, records }, [keyOf(viewer, '1')], persistOptions)
  expect(await records.getProgressMany([keyOf(viewer, '1')])).toEqual([undefined])
})

it('a deletion includes a trimmed record that was viewed ahead of the clock', async () => {
  const { hot, records } = openStores()
  const viewer = freshViewer()
  const now = later(1_000)
  const ahead = [1, 2, 3].map((step) => write(viewer, String(step), report(now + step * 100_000)))
  const written = await hot.putProgress(ahead, { now, timelineCap })
  await persistKeys({ hot, records }, ahead, persistOptions)
  await hot.deleteProgress([keyOf(viewer, '1')], later())
  await persistKeys({ hot, records }, [keyOf(viewer, '1')], persistOptions)
  const [row] = await records.getProgressMany([keyOf(viewer, '1')])
  expect(row).toMatchObject({ deleted: true, since: writtenRecord(written[0]).viewedAt })
  const [late] = await hot.putProgress([write(viewer, '1', glance(now + 100_000))], { now: later(), timelineCap })
  expect(late?.status).toBe('stale')
})
