/**
 * The persist path of the history subgraph: consumes flushes, persists their keys, sweeps keys that no flush carried, and purges expired
 * records. Any number of jobs may run; the log's consumer group splits the regions among them, and one of them purges.
 */
import type { Clock } from '../../../core/clock.ts'
import type { DirtyWalk, FlushedKey } from '../../../core/domain.ts'
import { startPersistLoop, type PersistLoopFigures } from '../../../writeback/persist-loop.ts'
import { sweepingBy, type SweptStore } from '../../../writeback/sweeper.ts'
import { startWorker, type Worker } from '../../../core/worker.ts'
import type { PersistReport } from './persist.ts'
import type { HotStore } from '../stores/hot-store.ts'
import type { ConsumerHooks, Log } from '../../../writeback/log.ts'
import type { RecordStore } from '../stores/record-store.ts'

export type HistoryJobOptions = {
  sweepAfterMs: number
  sweepEveryMs: number
  /** Keys per persist step. */
  persistKeysMax: number
  /** Milliseconds for which a record is kept after its last write; undefined = forever. */
  retentionMs: number | undefined
  purgeEveryMs: number
}

export type HistoryJobFigures = PersistLoopFigures & {
  steps: number
  rows: number
  missing: number
  expired: number
}

export type HistoryJob = {
  figures(): HistoryJobFigures
  /** Finishes current work and leaves the group. */
  stop(): Promise<void>
}

const PURGE_ROWS_MAX = 1_000

export async function startHistoryJob(
  clock: Clock,
  hot: HotStore,
  log: Log,
  records: RecordStore,
  persist: (keys: readonly FlushedKey[]) => Promise<PersistReport>,
  options: HistoryJobOptions,
  onError: (error: unknown) => void,
  onParked?: ConsumerHooks['parked'],
): Promise<HistoryJob> {
  const figures = { steps: 0, rows: 0, missing: 0, expired: 0 }

  async function persistKeys(keys: readonly FlushedKey[]): Promise<void> {
    for (let start = 0; start < keys.length; start += options.persistKeysMax) {
      const report = await persist(keys.slice(start, start + options.persistKeysMax))
      figures.steps++
      figures.rows += report.rows
      figures.missing += report.missing
    }
  }

  const loop = await startPersistLoop(
    clock,
    log,
    sweptHistory(hot),
    { persistBatch: (batch) => persistKeys(batch.messages.flatMap((message) => message.keys)), persistKeys },
    sweepingBy(options),
    onError,
    onParked,
  )
  // One job purges for all: retention scans both stores, and two jobs would compete for the same rows.
  const purger = startPurger(clock, hot, records, loop.isLeader, options, onError, (removed) => {
    figures.expired += removed
  })

  return {
    figures: () => ({ ...figures, ...loop.figures() }),
    async stop() {
      await Promise.all([purger?.stop(), loop.stopSweeping()])
      await loop.leave()
    },
  }
}

/** The hot store for a sweeper. */
export function sweptHistory(hot: HotStore): SweptStore {
  return {
    ...hot,
    walkDirty(regions, dirtyBefore) {
      const walk: DirtyWalk = {}
      return (limit) => hot.listDirty(regions, dirtyBefore, limit, walk)
    },
  }
}

/** Removes rows last written before the retention from both stores, in bounded chunks. */
function startPurger(
  clock: Clock,
  hot: HotStore,
  records: RecordStore,
  isPurger: () => boolean,
  { retentionMs, purgeEveryMs }: Pick<HistoryJobOptions, 'retentionMs' | 'purgeEveryMs'>,
  onError: (error: unknown) => void,
  onPurged: (removed: number) => void,
): Worker | undefined {
  async function purge(retention: number, mayGoOn: () => boolean): Promise<void> {
    const writtenBefore = clock.now() - retention
    for (const store of [records, hot]) {
      while (mayGoOn() && isPurger()) {
        const removed = await store.purgeExpired(writtenBefore, PURGE_ROWS_MAX)
        if (store === records) onPurged(removed)
        if (removed === 0) break
      }
    }
  }

  return retentionMs === undefined ? undefined : startWorker(clock, purgeEveryMs, (mayGoOn) => purge(retentionMs, mayGoOn), onError)
}
