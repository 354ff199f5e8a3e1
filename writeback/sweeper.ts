/**
 * The sweeper persists what no flush carried: dirty marks older than a bound, because a process died before flushing,
 * the log lost them or was down, or the aggregator was full. It runs in the job that owns the regions, with the persist
 * step that flushes use, so nothing that was acknowledged depends on a process staying alive. Rewards that were claimed
 * and never reached the log go there by the same round.
 */
import type { Clock } from '../core/clock.ts'
import type { ProgressKey } from '../core/domain.ts'
import type { PendingRewards } from './rewards.ts'
import { startWorker, type Worker } from '../core/worker.ts'
import type { Log } from './log.ts'

export type SweeperOptions = {
  /** Age of a dirty mark, in milliseconds, from which on it is swept. Must exceed the aggregator's `ageMaxMs`. */
  afterMs: number
  /** Milliseconds between two rounds. */
  everyMs: number
  /** Keys one persist step takes. */
  keysMax: number
}

export type SweepReport = { keys: number; rewards: number }

export type Sweeper = {
  /** One round over the owned regions, until nothing old is left. Rejects with the code of the store that failed. */
  sweep(): Promise<SweepReport>
  /** Begins the rounds; a failed one is told to `onError` and tried again at the next. */
  start(onRound: (report: SweepReport) => void, onError: (error: unknown) => void): void
  /** Ends the rounds after the one under way. */
  stop(): Promise<void>
}

/**
 * What it sweeps: without rewards, a store that has none. A store of which a step may leave something dirty, or not all is to be
 * swept, begins a walk for each round, that goes on behind what it has given; what is empty, or less than was asked for, ends it.
 */
export type SweptStore = (ListedStore | WalkedStore) & Partial<PendingRewards>
type ListedStore = { listDirty(regions: readonly number[], dirtyBefore: number, limit: number): Promise<readonly ProgressKey[]> }
type WalkedStore = { walkDirty(regions: readonly number[], dirtyBefore: number): (limit: number) => Promise<readonly ProgressKey[]> }

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
    // They need different stores: whichever is down, the other goes on.
    const [keys, rewards] = await Promise.allSettled([
      sweepKeys(regions, dirtyBefore),
      sweepRewards(hot, log, regions, dirtyBefore, options.keysMax, () => !stopped),
    ])
    if (keys.status === 'rejected') throw keys.reason
    if (rewards.status === 'rejected') throw rewards.reason
    return { keys: keys.value, rewards: rewards.value }
  }

  async function sweepKeys(regions: readonly number[], dirtyBefore: number): Promise<number> {
    const next = 'walkDirty' in hot ? hot.walkDirty(regions, dirtyBefore) : (limit: number) => hot.listDirty(regions, dirtyBefore, limit)
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
      worker = startWorker(clock, options.everyMs, async () => onRound(await sweep()), onError)
    },
    async stop() {
      stopped = true
      await worker?.stop()
    },
  }
}

/** Sends what was claimed at or before this moment and has not reached the log, until nothing is left. Returns how many. */
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
