/**
 * The write path: plays of requests, of history's reports and of the log are staged, and the first of a day is rewarded. Requests use the
 * guarded hot store. The persist step of history and the job use the store without a breaker: they may wait.
 */
import { makeBusinesses } from '../../../config/businesses.ts'
import type { Config } from '../../../config/config.ts'
import { makeRewardRules } from '../../../config/reward-rules.ts'
import { ringOf } from '../../../config/feed-existence.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Play } from '../../../core/domain.ts'
import type { GuardOptions } from '../../../core/outage/guard.ts'
import type { Fold } from '../fold/fold.ts'
import { monthOf } from '../model/time-ring.ts'
import type { GuardedSeenStores, SeenStores } from '../stores/guarded.ts'
import type { HistoryRecords } from '../stores/history-records.ts'
import type { SeenStore } from '../stores/hot-store.ts'
import { makeArrears, type ProcessArrears } from './arrears.ts'
import { makeHistoryPlays, type HistoryPlays, type HistoryPlaysFigures } from './from-history.ts'
import { makeDayRewards, type DayRewards, type RewardLog } from './rewards.ts'
import { makeStaging, type Staging } from './staging.ts'

/** With the record store of history, damaged filters are rebuilt, and the sampler can verify answers. */
export type ExistenceStores = SeenStores & {
  history?: HistoryRecords | undefined
  /** The log of rewards; if absent, there are none. */
  rewards?: RewardLog | undefined
}

export type WritePath = {
  rewards: DayRewards
  /** For requests. */
  staging: Staging
  fromHistory: HistoryPlays
  arrears: ProcessArrears
  /** A staging for a job of this process, with the fold of the job. */
  makeJobStaging(fold: Fold['fold']): JobStaging
  figures(): WritePathFigures
  /** Waits for early folds and rewards under way, and begins none. To be called after `arrears.stop`. */
  stopStaging(): Promise<void>
}

export type JobStaging = Pick<Staging, 'stop'> & { stage(plays: readonly Play[]): Promise<unknown> }

export type WritePathFigures = {
  fromHistory: HistoryPlaysFigures
  /** Rewards sent. */
  rewards: number
  /** `waiting`: plays of this process that are in the log but not yet in the hot store. */
  staging: ReturnType<Staging['figures']> & { waiting: number }
}

export type WritePathOptions = {
  guard: GuardOptions
  /** For early folds. */
  fold: Fold['fold']
  /** Gets the staged plays, for the legacy store. */
  onStaged: ((plays: readonly Play[]) => void) | undefined
  onError(error: unknown): void
}

export function makeWritePath(
  clock: Clock,
  stores: ExistenceStores,
  guarded: GuardedSeenStores,
  config: Config,
  { guard, fold, onStaged, onError }: WritePathOptions,
): WritePath {
  const { existence } = config
  const businesses = makeBusinesses(() => config.businesses)
  const shape = ringOf(config)
  const rules = makeRewardRules(config.rewards, businesses)
  const rewards = makeDayRewards(guarded.hot, guardRewards(stores.rewards, guarded), rules, onError)
  const stagingOn = (hot: SeenStore, early: Fold['fold']): Staging =>
    makeStaging(clock, hot, shape, existence.stagedMax, early, onError, rewards.send, onStaged)
  const staging = stagingOn(guarded.hot, unlessDown(guarded, fold))
  // The persist step may wait, as the job may.
  const historyStaging = stagingOn(stores.hot, fold)
  const fromHistory = makeHistoryPlays(clock, businesses, historyStaging, staging, rewards, rules, stores.log, existence)
  const arrears = makeArrears(clock, guarded, stageLate, guard, onError)

  /** Leaves out plays that waited until their month was no longer in use. */
  async function stageLate(plays: readonly Play[]) {
    const now = clock.now()
    const live = plays.filter(({ playedAt }) => monthOf(playedAt) >= monthOf(now) - existence.monthsBefore)
    await staging.stage(rewards.withDays(live, now))
  }

  return {
    rewards,
    staging,
    fromHistory,
    arrears,
    makeJobStaging(jobFold) {
      const { stage, stop } = stagingOn(stores.hot, jobFold)
      return { stage: (plays) => stage(rewards.withDays(plays, clock.now())), stop }
    },
    figures: () => ({
      fromHistory: fromHistory.figures(),
      ...rewards.figures(),
      staging: { ...staging.figures(), ...arrears.figures() },
    }),
    async stopStaging() {
      await Promise.all([staging.stop(), historyStaging.stop(), rewards.settled()])
    },
  }
}

/** Does not wait for a store that is known to be down: the plays stay staged for the job. */
function unlessDown({ breakers }: GuardedSeenStores, fold: Fold['fold']): Fold['fold'] {
  return async (slot, viewers) => {
    const isHotDown = viewers.some((viewer) => breakers.hotStore.isOpenFor(viewer))
    if (isHotDown || breakers.recordStore.isOpen()) throw new Error('an early fold is left to the job: a store is down')
    return fold(slot, viewers)
  }
}

function guardRewards(log: RewardLog | undefined, { breakers }: GuardedSeenStores): RewardLog | undefined {
  return log && { appendRewards: (events) => breakers.log.run(() => log.appendRewards(events)) }
}
