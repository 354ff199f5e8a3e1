/**
 * A process of the deployment, running the real code: the write path and the reads, the job, or both, wired as the
 * history subgraph wires them, over ports that lead through the scheduler.
 */
import { makeAggregator } from '../../core/aggregator.ts'
import type { Businesses } from '../../core/businesses.ts'
import type { BusinessNumber, Place, ProgressKey, ProgressRecord, ViewerId } from '../../core/domain.ts'
import { persistKeys } from '../../core/persist.ts'
import { getProgressMany } from '../../loaders/progress.ts'
import type { RecordStore } from '../../stores/record-store.ts'
import { makeFlusher } from '../../subgraphs/history/flusher.ts'
import { startHistoryJob, type HistoryJob } from '../../subgraphs/history/job.ts'
import { makeHistoryService, type HistoryService } from '../../subgraphs/history/service.ts'
import { readTimeline, type TimelinePage } from '../../subgraphs/history/timeline.ts'
import type { HotState } from './model-hot-state.ts'
import { openModelHotStore } from './model-hot-store.ts'
import { openModelLog, type LogState, type Member } from './model-log.ts'
import { openModelRecordStore, type RecordState } from './model-record-store.ts'
import type { Life, Scheduler } from './scheduler.ts'

export type Stores = { hot: HotState; log: LogState; records: RecordState }

export type ProcessOptions = {
  regions: number
  timelineCap: number
  futureMaxMs: number
  keysMax: number
  ageMaxMs: number
  heldMax: number
  directMax: number
  directWaitingMax: number
  sweepAfterMs: number
  sweepEveryMs: number
  persistKeysMax: number
  purgeRowsMax: number
  retentionMs: number | undefined
  purgeEveryMs: number
}

export type Role = { serves: boolean; persists: boolean }

export type Process = Role & {
  life: Life
  service: HistoryService
  readTimeline(viewer: ViewerId, businesses: readonly BusinessNumber[], before: Place | undefined, first: number): Promise<TimelinePage>
  getProgressMany(keys: readonly ProgressKey[]): Promise<(ProgressRecord | undefined)[]>
  /** The member of the log's group that this process is, once it joined. */
  member(): Member | undefined
  /** Ends the process in order: nothing it took is under way any more when this resolves. */
  stop(): Promise<void>
}

export function startProcess(
  scheduler: Scheduler,
  stores: Stores,
  businesses: Businesses,
  life: Life,
  role: Role,
  options: ProcessOptions,
  onError: (error: unknown) => void,
): Process {
  const gate = scheduler.gateOf(life)
  const clock = scheduler.clockOf(life)
  let member: Member | undefined
  const hot = openModelHotStore(stores.hot, gate)
  const records: RecordStore = openModelRecordStore(stores.records, gate)
  const log = openModelLog(stores.log, gate, clock, (joined) => {
    member = joined
  })
  const persist = (keys: readonly ProgressKey[]) =>
    persistKeys(hot, records, keys, { timelineCap: options.timelineCap, purgeRowsMax: options.purgeRowsMax })
  const flusher = makeFlusher(hot, log, persist, options, onError)
  const aggregator = makeAggregator(clock, flusher.flush, options)
  const service = makeHistoryService(clock, businesses, hot, records, aggregator, flusher.reward, options)
  const job = role.persists ? startJob() : undefined

  /** A job that cannot join the group yet tries again, as its supervisor would have it do. */
  async function startJob(): Promise<HistoryJob> {
    for (;;) {
      try {
        return await startHistoryJob(clock, hot, log, records, persist, options, onError)
      } catch (error) {
        onError(error)
        await new Promise<void>((resolve) => clock.after(200, resolve))
      }
    }
  }

  return {
    ...role,
    life,
    service,
    readTimeline: (viewer, numbers, before, first) => readTimeline(hot, records, viewer, numbers, before, first),
    getProgressMany: (keys) => getProgressMany(hot, records, keys),
    member: () => member,
    async stop() {
      aggregator.flushAll()
      await flusher.settled()
      await (await job)?.stop().catch(onError)
    },
  }
}
