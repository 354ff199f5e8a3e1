/**
 * The sweeper persists dirty marks that no flush carried: marks older than a bound. Their process died before flushing, the log lost them or
 * was down, or the aggregator was full. The sweeper runs in the job that owns the regions, with the persist step of the flushes. No
 * acknowledged write therefore depends on a process staying alive. Each round also sends claimed rewards that never reached the log.
 */
import { liveSettings } from '../config/live/live-view.ts'
import type { Clock } from '../core/clock.ts'
import type { ProgressKey } from '../core/domain.ts'
import type { PendingRewards } from './rewards.ts'
import { startWorker, type Worker } from '../core/worker.ts'
import type { Log } from './log.ts'

export type SweeperOptions = {
  /** Minimum age of a dirty mark for the sweeper, in milliseconds. Must exceed the aggregator's `ageMaxMs`. */
  afterMs: number
  /** Milliseconds between two rounds. */
  everyMs: number
  /** Keys per persist step. */
  keysMax: number
}

/** The options of a sweeper from the settings of a job, which may change while it runs. */
export function sweepingBy(settings: { sweepAfterMs: number; sweepEveryMs: number; persistKeysMax: number }): SweeperOptions {
  return liveSettings(() => settings, { afterMs: 'sweepAfterMs', everyMs: 'sweepEveryMs', keysMax: 'persistKeysMax' })
}

export type SweepReport = { keys: number; rewards: number }

export type Sweeper = {
  /** One round over the owned regions, until no old mark is left. Rejects with the code of the store that failed. */
  sweep(): Promise<SweepReport>
  /** Begins the rounds. A failed round is reported to `onError`, and the next one tries again. */
  start(onRound: (report: SweepReport) => void, onError: (error: unknown) => void): void
  /** Ends the rounds after the current one. */
  stop(): Promise<void>
}

/**
 * The store that is swept; a store without rewards leaves them out. Each round is a walk, which continues behind its last key, since some
 * keys may stay dirty. A page that is empty, or shorter than the limit, ends the walk.
 */
export type SweptStore = Partial<PendingRewards> & {
  walkDirty(regions: readonly number[], dirtyBefore: number): (limit: number) => Promise<readonly ProgressKey[]>
}

export function makeSweeper(
  clock: Clock,
  hot: SweptStore,
  log: Pick<Log, 'appendRewards'>,
  ownedRegions: () => readonly number[],
  persist: (keys: readonly ProgressKey[]) => Promise<unknown>,
  options: SweeperOptions,
): Sweeper {
  let worker: Worker | undefined
  let stopped = false

  async function sweep(): Promise<SweepReport> {
    const regions = ownedRegions()
    const dirtyBefore = clock.now() - options.afterMs
    // Keys and rewards need different stores: one goes on while the other's store is down.
    const [keys, rewards] = await Promise.allSettled([
      sweepKeys(regions, dirtyBefore),
      sweepRewards(hot, log, regions, dirtyBefore, options.keysMax, () => !stopped),
    ])
    if (keys.status === 'rejected') throw keys.reason
    if (rewards.status === 'rejected') throw rewards.reason
    return { keys: keys.value, rewards: rewards.value }
  }

  async function sweepKeys(regions: readonly number[], dirtyBefore: number): Promise<number> {
    const next = hot.walkDirty(regions, dirtyBefore)
    let swept = 0
    while (!stopped) {
      const keys = await next(options.keysMax)
      if (keys.length === 0) break
      await persist(keys)
      swept += keys.length
      if (keys.length < options.keysMax) break
    }
    return swept
  }

  return {
    sweep,
    start(onRound, onError) {
      worker = startWorker(
        clock,
        () => options.everyMs,
        async () => onRound(await sweep()),
        onError,
      )
    },
    async stop() {
      stopped = true
      await worker?.stop()
    },
  }
}

/** Sends all rewards claimed at or before this moment that have not reached the log. Returns their number. */
export async function sweepRewards(
  hot: Partial<PendingRewards>,
  log: Pick<Log, 'appendRewards'>,
  regions: readonly number[],
  claimedBefore: number,
  limit: number,
  mayGoOn: () => boolean,
): Promise<number> {
  let sent = 0
  while (mayGoOn() && hot.listPendingRewards !== undefined) {
    const rewards = await hot.listPendingRewards(regions, claimedBefore, limit)
    if (rewards.length === 0) break
    await log.appendRewards(rewards)
    await hot.confirmRewards?.(rewards)
    sent += rewards.length
    if (rewards.length < limit) break
  }
  return sent
}
