/**
 * The persist path of feed existence: stages plays from the log, folds settled slots into the viewers' filters, and removes expired filters
 * and old issues. Any number of jobs may run; the log's consumer group splits the regions among them, and with them the shards of the ring.
 * The owner of region 0 does the work that concerns all regions.
 */
import type { Clock } from '../../../core/clock.ts'
import type { BusinessNumber, Play } from '../../../core/domain.ts'
import { startWorker } from '../../../core/worker.ts'
import { sweepRewards } from '../../../writeback/sweeper.ts'
import type { PlayHooks, PlayLog } from '../stores/play-log.ts'
import type { SeenRecords } from '../stores/record-store.ts'
import type { SeenStore } from '../stores/hot-store.ts'
import type { Fold } from './fold.ts'
import { makeFolding, type FoldingFigures, type FoldingOptions } from './folding.ts'
import { mistakeOfPlayedAt, type PlayedAtLimits } from '../inputs.ts'
import type { RewardLog } from '../write/rewards.ts'

export type ExistenceJobOptions = FoldingOptions &
  PlayedAtLimits & {
    /** True for businesses of this configuration. Other businesses have no readers and no rewards. */
    isKnown(business: BusinessNumber): boolean
    foldEveryMs: number
    purgeEveryMs: number
    /** Milliseconds for which issued subjects are kept after the viewer was last served. */
    issuedTtlMs: number
    /** Age in milliseconds at which a reward that did not reach the log is sent again, and the interval of that check. */
    sweepAfterMs: number
    sweepEveryMs: number
  }

export type ExistenceJobFigures = FoldingFigures & {
  /**
   * Plays of the log that were staged; plays refused because they are too old for any filter or their business is not configured; messages
   * that are invalid.
   */
  staged: number
  refusedPlays: number
  parked: number
  /** Expired filters that were removed. */
  purged: number
  /** Rewards that the claiming process did not send. */
  rewardsSwept: number
}

export type ExistenceJob = {
  figures(): ExistenceJobFigures
  /** Finishes current work and leaves the group. */
  stop(): Promise<void>
}

const WHOLE_REGION = 0
const PURGE_MAX = 1_000
const SWEEP_MAX = 1_000

export async function startExistenceJob(
  clock: Clock,
  { hot, log, records, rewards }: { hot: SeenStore; log: PlayLog; records: SeenRecords; rewards?: RewardLog | undefined },
  fold: Fold['fold'],
  staging: { stage(plays: readonly Play[]): Promise<unknown> },
  options: ExistenceJobOptions,
  onError: (error: unknown) => void,
  onParked: NonNullable<PlayHooks['parked']> = (reason) => onError(new Error(reason)),
): Promise<ExistenceJob> {
  const figures = { staged: 0, refusedPlays: 0, parked: 0, purged: 0, rewardsSwept: 0 }

  async function stage(plays: readonly Play[]): Promise<void> {
    const now = clock.now()
    const good = plays
      .map((play) => notAhead(play, now))
      .filter(({ business, playedAt }) => options.isKnown(business) && mistakeOfPlayedAt(playedAt, now, options) === undefined)
    await staging.stage(good)
    figures.staged += good.length
    figures.refusedPlays += plays.length - good.length
  }

  /** The play was accepted and acknowledged by a service whose clock may be ahead of this one. */
  function notAhead(play: Play, now: number): Play {
    return play.playedAt > now + options.futureMaxMs ? { ...play, playedAt: now } : play
  }

  const consumer = await log.consumePlays({
    stage,
    parked(reason, where) {
      figures.parked++
      onParked(reason, where)
    },
  })
  const ownedRegions = (): readonly number[] => consumer.ownedRegions()
  const folding = makeFolding(clock, hot, fold, ownedRegions, options, onError)
  const folds = startWorker(clock, options.foldEveryMs, folding.round, onError)
  const purges = startWorker(
    clock,
    options.purgeEveryMs,
    async (mayGoOn) => {
      const isOurs = (): boolean => mayGoOn() && ownedRegions().includes(WHOLE_REGION)
      for (let purged = 1; purged > 0 && isOurs();) {
        purged = await records.purgeExpired(clock.now(), PURGE_MAX)
        figures.purged += purged
      }
      for (let looked = 1; looked > 0 && isOurs();) looked = await hot.purgeIssued(clock.now() - options.issuedTtlMs, PURGE_MAX)
    },
    onError,
  )
  const sweeps = startWorker(
    clock,
    () => options.sweepEveryMs,
    async (mayGoOn) => {
      if (rewards === undefined) return
      const claimedBefore = clock.now() - options.sweepAfterMs
      figures.rewardsSwept += await sweepRewards(hot, rewards, ownedRegions(), claimedBefore, SWEEP_MAX, mayGoOn)
    },
    onError,
  )

  return {
    figures: () => ({ ...folding.figures(), ...figures }),
    async stop() {
      await Promise.all([folds.stop(), purges.stop(), sweeps.stop()])
      await consumer.stop()
    },
  }
}
