/**
 * The persist path of the feed: consume flushes and persist their keys, sweep keys that no flush carried, and forget what is old. Any number
 * of jobs may run. The log's consumer group splits the regions among them, and each job forgets the changes of its regions. The job with
 * region 0 removes tombstones from the record store.
 *
 * The log carries keys of counters too. Their windows collect the keys of all partitions, so a subject that is counted a thousand times in a
 * window is written once. Posts are written once anyway, and as they come.
 */
import { liveSettings, withLive } from '../../../config/live/live-view.ts'
import type { Clock } from '../../../core/clock.ts'
import type { DirtyWalk, FlushedKey } from '../../../core/domain.ts'
import { startWorker } from '../../../core/worker.ts'
import type { ConsumerHooks, Log, LogBatch } from '../../../writeback/log.ts'
import { startPersistLoop, type PersistLoopFigures } from '../../../writeback/persist-loop.ts'
import { sweepingBy } from '../../../writeback/sweeper.ts'
import { makeWindows } from '../../../writeback/window.ts'
import { flushedCountsOf } from '../model/counts.ts'
import { flushedKeyOf } from '../model/dirty-keys.ts'
import { POST_EPOCH_MS, TICKS_PER_MS } from '../packed/post-id.ts'
import type { FeedHotStore } from '../stores/hot-store.ts'
import type { FeedRecords } from '../stores/record-store.ts'
import { persistByKind, subjectsOf, type CounterSteps, type FeedPersistSteps } from './steps.ts'

export type FeedJobOptions = {
  /** Of the deployment. */
  regions: number
  /** Changes of the hot store are forgotten after this time, if everything from before it is persisted. */
  keepMs: number
  /** Tombstones of the record store are removed after this time. */
  tombstoneMs: number
  purgeEveryMs: number
  persistKeysMax: number
  sweepAfterMs: number
  sweepEveryMs: number
  countsWindowMs: number
}

export type FeedJobStores = {
  hot: Pick<FeedHotStore, 'listDirty' | 'purgeOld'>
  records: Pick<FeedRecords, 'purgeDeleted'>
  log: Log
}

export type FeedJobFigures = PersistLoopFigures & {
  /** Persist steps, and the posts and filter words that they wrote. */
  steps: number
  posts: number
  words: number
  /** Subjects whose counters were written. */
  counted: number
  missing: number
  /** Changes that the hot store forgot, and tombstones that were removed from the record store. */
  forgotten: number
  removed: number
}

export type FeedJob = {
  figures(): FeedJobFigures
  /** Finishes the work under way and leaves the group. */
  stop(): Promise<void>
}

const PURGED_AT_ONCE = 1_000
/** The clock that dated a dirty mark may be ahead of the one that dated a change. */
const CLOCK_DIFFERENCE_MS = 60_000
/** A window of counters ends early at this size. */
const WINDOW_KEYS_MAX = 200_000

export async function startFeedJob(
  clock: Clock,
  { hot, records, log }: FeedJobStores,
  { persist, counters }: FeedPersistSteps,
  options: FeedJobOptions,
  onError: (error: unknown) => void,
  onParked?: ConsumerHooks['parked'],
): Promise<FeedJob> {
  const allRegions = [...Array(options.regions).keys()]
  const figures = { steps: 0, posts: 0, words: 0, counted: 0, missing: 0, forgotten: 0, removed: 0 }

  async function persistPosts(keys: readonly FlushedKey[]): Promise<void> {
    for (let start = 0; start < keys.length; start += options.persistKeysMax) {
      const report = await persist(keys.slice(start, start + options.persistKeysMax))
      figures.steps++
      figures.posts += report.posts
      figures.words += report.words
      figures.missing += report.missing
    }
  }

  async function persistCounts(keys: readonly FlushedKey[]): Promise<void> {
    const { rows } = await counters.persist(subjectsOf(keys))
    figures.counted += rows
  }

  const windows = makeWindows(
    clock,
    persistCounts,
    withLive(
      liveSettings(() => options, { windowMs: 'countsWindowMs' }),
      { keysMax: WINDOW_KEYS_MAX },
    ),
  )

  async function persistBatch({ partition, messages, nextOffset }: LogBatch): Promise<void> {
    const keys = messages.flatMap((message) => message.keys)
    await persistByKind(keys, persistPosts, (counts) => windows.add({ partition, offset: nextOffset, keys: counts }))
  }

  const loop = await startPersistLoop(
    clock,
    log,
    { walkDirty: (regions, dirtyBefore) => walkAll(hot, counters, regions, dirtyBefore) },
    { persistBatch, persistKeys: (keys) => persistByKind(keys, persistPosts, persistCounts) },
    sweepingBy(options),
    onError,
    onParked,
  )

  /**
   * An inbox does not say which of its posts are persisted, and their authors may belong to any region. So nothing is forgotten as long as
   * something of that time, in any region, waits to be persisted.
   */
  async function forgetChanges(mayGoOn: () => boolean): Promise<void> {
    const changedBefore = clock.now() - options.keepMs
    const waiting = await hot.listDirty(allRegions, changedBefore + CLOCK_DIFFERENCE_MS, 1)
    for (let forgotten = waiting.length === 0 ? 1 : 0; forgotten > 0 && mayGoOn();) {
      forgotten = await hot.purgeOld(loop.ownedRegions(), changedBefore, PURGED_AT_ONCE)
      figures.forgotten += forgotten
    }
  }

  async function removeTombstones(mayGoOn: () => boolean): Promise<void> {
    const versionBelow = (clock.now() - options.tombstoneMs - POST_EPOCH_MS) * TICKS_PER_MS
    for (let removed = 1; removed > 0 && mayGoOn() && loop.isLeader();) {
      removed = await records.purgeDeleted(versionBelow, PURGED_AT_ONCE)
      figures.removed += removed
    }
  }

  /** Purges each store also while the other one is down. */
  async function purge(mayGoOn: () => boolean): Promise<void> {
    for (const done of await Promise.allSettled([forgetChanges(mayGoOn), removeTombstones(mayGoOn)])) {
      if (done.status === 'rejected') throw done.reason
    }
  }

  const purger = startWorker(clock, options.purgeEveryMs, purge, onError)
  return {
    figures: () => ({ ...figures, ...loop.figures() }),
    async stop() {
      await Promise.all([purger.stop(), loop.stopSweeping(), windows.stop()])
      await loop.leave()
    },
  }
}

/** Posts and words first, then counters, in pages that are full until the end. Keys that stay dirty do not hide those behind them. */
function walkAll(hot: FeedJobStores['hot'], counters: CounterSteps, regions: readonly number[], dirtyBefore: number) {
  const walk: DirtyWalk = {}
  let atCounters = false
  return async (limit: number): Promise<FlushedKey[]> => {
    const keys: FlushedKey[] = []
    while (!atCounters && keys.length < limit) {
      const page = await hot.listDirty(regions, dirtyBefore, limit - keys.length, walk)
      atCounters = page.length === 0
      keys.push(...page.map(flushedKeyOf))
    }
    if (atCounters && keys.length < limit) {
      keys.push(...(await counters.listDirty(regions, dirtyBefore, limit - keys.length)).map(flushedCountsOf))
    }
    return keys
  }
}
