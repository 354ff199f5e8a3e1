/**
 * A process of the deployment, which runs the real code: the write path and the reads, the job, or both. It is wired as in the history
 * subgraph, with journals, over ports that lead through the scheduler.
 */
import type { Businesses } from '../../../config/businesses.ts'
import { noteLack, type Degraded } from '../../../core/outage/degraded.ts'
import type { BusinessNumber, Place, ProgressKey, ProgressRecord, ViewerId } from '../../../core/domain.ts'
import { getProgressMany } from '../../../loaders/progress.ts'
import type { RecordStore } from '../../../subgraphs/history/stores/record-store.ts'
import { startHistoryJob, type HistoryJobOptions } from '../../../subgraphs/history/persist/job.ts'
import type { HistoryService } from '../../../subgraphs/history/write/service.ts'
import { readTimeline, type TimelinePage } from '../../../subgraphs/history/read/timeline.ts'
import { makeWritePath, type WritePathOptions } from '../../../subgraphs/history/write/write-path.ts'
import type { HotState } from './model-hot-state.ts'
import { openModelHotStore } from './model-hot-store.ts'
import { openModelJournals, type Machine } from '../model-journals.ts'
import { openModelLog, type LogState, type Member } from '../model-log.ts'
import { openModelRecordStore, type RecordState } from './model-record-store.ts'
import type { Life } from '../life.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Role } from '../places.ts'
import { makeQuestions, startUntilJoined } from '../processes.ts'

export type Stores = { hot: HotState; log: LogState; records: RecordState }

export type ProcessOptions = WritePathOptions & HistoryJobOptions

export type Process = Role & {
  life: Life
  service: HistoryService
  readTimeline(
    viewer: ViewerId,
    businesses: readonly BusinessNumber[],
    before: Place | undefined,
    first: number,
    degraded: Degraded,
  ): Promise<TimelinePage>
  getProgressMany(keys: readonly ProgressKey[], degraded: Degraded): Promise<(ProgressRecord | undefined)[]>
  /** The member of the log's group that this process is, once it joined. */
  member(): Member | undefined
  /** Drains and stops the process. All accepted work is done when this resolves. */
  stop(): Promise<void>
}

export function startProcess(
  scheduler: Scheduler,
  stores: Stores,
  machine: Machine,
  businesses: Businesses,
  life: Life,
  role: Role,
  options: ProcessOptions,
  onError: (error: unknown) => void,
): Process {
  const gate = scheduler.gateOf(life)
  const clock = scheduler.clockOf(life)
  let member: Member | undefined
  const { noted, checked, settled } = makeQuestions()
  const hot = checked(openModelHotStore(stores.hot, gate))
  const allRecords = checked(openModelRecordStore(stores.records, gate))
  const records: RecordStore = {
    ...allRecords,
    getProgressMany: (keys) => noted(allRecords.getProgressMany(keys)),
    getSettingsMany: (viewers) => noted(allRecords.getSettingsMany(viewers)),
    listProgress: (viewer, numbers, before, limit) => noted(allRecords.listProgress(viewer, numbers, before, limit)),
  }
  const log = checked(
    openModelLog(stores.log, gate, clock, (joined) => {
      member = joined
    }),
  )
  const journals = role.serves ? openModelJournals(machine, gate, life) : undefined
  const { guarded, service, mayLack, persist, drain } = makeWritePath(clock, businesses, { hot, log, records, journals }, options, onError)
  const job = role.persists
    ? startUntilJoined(clock, () => startHistoryJob(clock, hot, log, records, persist, options, onError), onError)
    : undefined

  return {
    ...role,
    life,
    service,
    async readTimeline(viewer, numbers, before, first, degraded) {
      noteLack([{ viewer }], mayLack, degraded)
      return readTimeline(guarded.hot, guarded.records, viewer, numbers, before, first, degraded)
    },
    async getProgressMany(keys, degraded) {
      noteLack(keys, mayLack, degraded)
      return getProgressMany(guarded.hot, guarded.records, keys, degraded)
    },
    member: () => member,
    async stop() {
      await drain()
      await (await job)?.stop().catch(onError)
      await journals?.close()
      await settled()
    },
  }
}
