/** The migration from the legacy store, with the rules of the configuration. */
import type { Config } from '../../../config/config.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Random } from '../../../core/random.ts'
import { filterRules, makeExistenceFold, type FoldedStores } from '../fold/configured-fold.ts'
import type { FoldOptions } from '../fold/fold.ts'
import type { LegacyPlays } from '../stores/legacy-plays.ts'
import { liveness } from './legacy.ts'
import { makeMigration, type Migration, type MigrationOptions } from './migrate.ts'

/** Undefined if no legacy store is configured. */
export function makeExistenceMigration(
  clock: Clock,
  stores: FoldedStores & { legacy: LegacyPlays | undefined },
  config: Config,
  random: Random,
  { onRenewed, onGone }: Pick<FoldOptions, 'onRenewed'> & Pick<MigrationOptions, 'onGone'> = {},
): Migration | undefined {
  const { existence } = config
  if (stores.legacy === undefined || existence.legacy === undefined) return undefined
  const { repair } = makeExistenceFold(clock, stores, config, random, { onRenewed })
  const { membersPerSecond } = existence.legacy
  const options = { ...filterRules(clock, config, random), isLive: liveness(clock, existence), membersPerSecond, onGone }
  return makeMigration(clock, stores.legacy, stores.records, repair, options)
}
