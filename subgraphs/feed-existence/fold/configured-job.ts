/** The job of a process, with the settings of the configuration. */
import { makeBusinesses } from '../../../config/businesses.ts'
import { liveSettings, withLive } from '../../../config/live/live-view.ts'
import type { Config } from '../../../config/config.ts'
import { ringOf } from '../../../config/feed-existence.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Mover } from '../migration/migrate.ts'
import type { PlayHooks } from '../stores/play-log.ts'
import type { ExistenceStores, JobStaging } from '../write/write-path.ts'
import type { Fold } from './fold.ts'
import { startExistenceJob, type ExistenceJob } from './job.ts'

/** The parts that a job has for itself; they end with it. */
export type JobParts = { fold: Fold['fold']; staging: JobStaging; mover: Mover | undefined; nextTurn: () => Promise<void> }

export async function startConfiguredJob(
  clock: Clock,
  stores: ExistenceStores,
  config: Config,
  { fold, staging, mover, nextTurn }: JobParts,
  onError: (error: unknown) => void,
  onParked: NonNullable<PlayHooks['parked']>,
): Promise<ExistenceJob> {
  const { existence } = config
  const businesses = makeBusinesses(() => config.businesses)
  const sweeping = liveSettings(() => config.history, { sweepAfterMs: 'sweepAfterMs', sweepEveryMs: 'sweepEveryMs' })
  const options = withLive(sweeping, {
    ...existence,
    isKnown: (number: number) => businesses.byNumber(number) !== undefined,
    shape: ringOf(config),
    regions: config.stores.regions,
    keysMax: existence.foldKeysMax,
    nextTurn,
  })
  const job = await startExistenceJob(clock, stores, fold, staging, options, onError, onParked)
  return {
    figures: job.figures,
    async stop() {
      mover?.stop()
      try {
        await job.stop()
      } finally {
        // Also if leaving the log fails: a fold under way must end before the stores are closed.
        await staging.stop()
      }
    },
  }
}
