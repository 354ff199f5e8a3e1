/**
 * The persist path of thumbup: collect flushes for a window, persist their keys in one step, and sweep keys that no flush carried. Any
 * number of jobs may run. The log's consumer group splits the regions among them. Work on the whole data has one owner, the job with region
 * 0: it publishes the outbox, forgets, archives and recounts (`upkeep.ts`, `reconciler.ts`).
 */
import { liveSettings } from '../../../config/live/live-view.ts'
import type { Clock } from '../../../core/clock.ts'
import type { BusinessNumber, DirtyWalk, MarkKey } from '../../../core/domain.ts'
import type { MarkPersistReport, MarkPersistStores } from './persist.ts'
import { startPersistLoop, type PersistLoopFigures } from '../../../writeback/persist-loop.ts'
import { sweepingBy } from '../../../writeback/sweeper.ts'
import { makeWindows } from '../../../writeback/window.ts'
import type { ConsumerHooks, Log, LogBatch } from '../../../writeback/log.ts'
import type { StreamOffset } from '../stores/record-store.ts'
import type { MarkStore } from '../stores/hot-store.ts'
import { startReconciler, type ReconcilerFigures } from './reconciler.ts'
import { startWorker } from '../../../core/worker.ts'
import { makePublisher } from './outbox.ts'
import { makeUpkeep, type UpkeepFigures, type UpkeepOptions } from './upkeep.ts'

export type ThumbupJobOptions = {
  /** The name under which the record store keeps the offsets. Other jobs may share that store. */
  stream: string
  windowMs: number
  windowKeysMax: number
  persistKeysMax: number
  sweepAfterMs: number
  sweepEveryMs: number
  publishEveryMs: number
  purgeEveryMs: number
  reconcileEveryMs: number
  /** True for a business whose marks belong in these stores. */
  isOurs(business: BusinessNumber): boolean
  /** True if the stores belong to one business. */
  isTenant?: boolean
  /** The businesses that are recounted. */
  businesses: readonly BusinessNumber[]
} & UpkeepOptions

export type ThumbupJobFigures = {
  /** Keys that flushes carried, each once per message. */
  marks: number
  steps: number
  rows: number
  missing: number
  transitions: number
  /** Updates of subjects' counts. `marks` divided by `countUpdates` is the saving of the windows. */
  countUpdates: number
  /** Changes whose events came from the outbox, because the persist step could not publish them. */
  published: number
} & PersistLoopFigures &
  UpkeepFigures &
  ReconcilerFigures

export type ThumbupJob = {
  figures(): ThumbupJobFigures
  /** Finishes the work under way and leaves the group. */
  stop(): Promise<void>
}

export async function startThumbupJob(
  clock: Clock,
  stores: MarkPersistStores,
  log: Log,
  persist: (keys: readonly MarkKey[], offsets: readonly StreamOffset[]) => Promise<MarkPersistReport>,
  options: ThumbupJobOptions,
  onError: (error: unknown) => void,
  onParked?: ConsumerHooks['parked'],
): Promise<ThumbupJob> {
  const figures = {
    ...{ marks: 0, steps: 0, rows: 0, missing: 0, transitions: 0, countUpdates: 0, published: 0 },
  }

  async function persistCounted(keys: readonly MarkKey[], offsets: readonly StreamOffset[] = []): Promise<void> {
    const report = await persist(keys, offsets)
    figures.steps++
    figures.rows += report.rows
    figures.missing += report.missing
    figures.transitions += report.transitions
    figures.countUpdates += report.countUpdates
  }

  const windows = makeWindows(
    clock,
    (keys, offsets) =>
      persistCounted(
        keys,
        offsets.map((each) => ({ stream: options.stream, ...each })),
      ),
    liveSettings(() => options, { windowMs: 'windowMs', keysMax: 'windowKeysMax' }),
  )

  async function persistBatch({ partition, messages, nextOffset }: LogBatch): Promise<void> {
    const keys = messages.flatMap((message) => message.keys)
    await windows.add({ partition, offset: nextOffset, keys })
    figures.marks += keys.length
  }

  // Dirty marks of a deleted business are forgotten later, not persisted.
  const isSwept = (business: BusinessNumber): boolean => options.isOurs(business) && !options.deleted.includes(business)
  const loop = await startPersistLoop(
    clock,
    log,
    { walkDirty: walkOurs(stores.hot, isSwept) },
    { persistBatch, persistKeys: (keys) => persistCounted(keys) },
    sweepingBy(options),
    onError,
    onParked,
  )
  const { ownedRegions, isLeader } = loop

  const publish = makePublisher(stores, options.isOurs, options.isTenant)
  const publisher = startWorker(
    clock,
    options.publishEveryMs,
    async (mayGoOn) => {
      if (isLeader()) figures.published += await publish(mayGoOn)
    },
    onError,
  )
  const upkeep = makeUpkeep(clock, stores, ownedRegions, isLeader, options, onError)
  const keeper = startWorker(clock, options.purgeEveryMs, upkeep.round, onError)
  const reconciler = startReconciler(clock, stores, isLeader, options, onError)

  return {
    figures: () => ({ ...figures, ...loop.figures(), ...upkeep.figures(), ...reconciler.figures() }),
    async stop() {
      await Promise.all([publisher.stop(), keeper.stop(), reconciler.stop(), loop.stopSweeping(), windows.stop()])
      await loop.leave()
    },
  }
}

/**
 * Skips dirty marks of other businesses, however many wait for a database that is down. Marks that cannot be persisted must not hide the
 * marks behind them.
 */
function walkOurs(hot: MarkStore, isOurs: (business: BusinessNumber) => boolean) {
  return (regions: readonly number[], dirtyBefore: number) => {
    const walk: DirtyWalk = {}
    const ours: MarkKey[] = []
    let isDone = false
    return async (limit: number): Promise<MarkKey[]> => {
      while (!isDone && ours.length < limit) {
        const page = await hot.listDirtyMarks(regions, dirtyBefore, limit, walk)
        isDone = page.length === 0
        for (const key of page) if (isOurs(key.business)) ours.push(key)
      }
      return ours.splice(0, limit)
    }
  }
}
