/**
 * Aggregator → log. Flushes are appended in the background. While the log is down they go straight to the persist step: a bounded number at
 * once, and a bounded number behind them. Further flushes are left to the sweeper. A flush never makes a writer wait. The log decides when it
 * counts as down: a guarded log bounds each append.
 */
import type { RegionKeys } from './aggregator.ts'
import type { FlushedKey, RewardEvent } from '../core/domain.ts'
import type { PendingRewards } from './rewards.ts'
import type { Log } from './log.ts'

export type FlusherOptions = {
  /** Concurrent persist steps while the log is down. Minimum 0. */
  directMax: number
  /** Persist steps that may wait for those. Default 0. */
  directWaitingMax?: number
}

export type FlusherFigures = {
  /** Messages that the log accepted. */
  messages: number
  /** Flushes persisted directly because the log was down. */
  direct: number
  /** Flushes left to the sweeper. */
  left: number
}

export type Flusher = {
  flush(regions: readonly RegionKeys[]): void
  reward(events: readonly RewardEvent[]): void
  /** Resolves when no flush and no reward is under way. */
  settled(): Promise<void>
  figures(): FlusherFigures
}

export function makeFlusher(
  hot: Pick<PendingRewards, 'confirmRewards'>,
  log: Pick<Log, 'appendFlushes' | 'appendRewards'>,
  persist: (keys: readonly FlushedKey[]) => Promise<unknown>,
  options: FlusherOptions,
  onError: (error: unknown) => void,
): Flusher {
  const underWay = new Set<Promise<void>>()
  const figures: FlusherFigures = { messages: 0, direct: 0, left: 0 }
  const waiting: (() => void)[] = []
  let directUnderWay = 0

  function track(work: Promise<void>): void {
    const tracked = work.catch(onError).finally(() => underWay.delete(tracked))
    underWay.add(tracked)
  }

  async function append(regions: readonly RegionKeys[]): Promise<void> {
    try {
      await log.appendFlushes(regions)
      figures.messages += regions.length
    } catch (error) {
      onError(error)
      await Promise.all(regions.map(persistDirectly))
    }
  }

  async function persistDirectly({ keys }: RegionKeys): Promise<void> {
    if (directUnderWay < options.directMax) directUnderWay++
    else if (options.directMax > 0 && waiting.length < (options.directWaitingMax ?? 0)) {
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else {
      figures.left++
      return
    }
    try {
      await persist(keys)
      figures.direct++
    } catch (error) {
      // Reported here: a failed step must not hide other steps from `settled`.
      figures.left++
      onError(error)
    } finally {
      // The next waiting flush takes its place.
      const next = waiting.shift()
      if (next === undefined) directUnderWay--
      else next()
    }
  }

  async function appendRewards(events: readonly RewardEvent[]): Promise<void> {
    await log.appendRewards(events)
    await hot.confirmRewards(events)
  }

  return {
    flush: (regions) => track(append(regions)),
    reward: (events) => track(appendRewards(events)),
    async settled() {
      while (underWay.size > 0) await Promise.all(underWay)
    },
    figures: () => ({ ...figures }),
  }
}
