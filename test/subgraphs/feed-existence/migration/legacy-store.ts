/** The settings and the store with which the subgraph reads a legacy Redis. */
import { openLegacy } from '../../../../cli/stores/distributed/legacy.ts'
import type { Config } from '../../../../config/config.ts'
import type { Clock } from '../../../../core/clock.ts'
import type { LegacyPlays } from '../../../../subgraphs/feed-existence/stores/legacy-plays.ts'
import { seenConfig } from '../opened.ts'

export const legacyConfig = (url: string, legacy: object = {}, existence: object = {}): Config =>
  seenConfig({ ...existence, legacy: { urls: [url], membersPerSecond: 100_000_000, ...legacy } })

export function openLegacyOf(opened: { clock: Clock }, config: Config): LegacyPlays {
  const legacy = openLegacy(config, opened.clock)
  if (legacy === undefined) throw new Error('no legacy store is configured')
  return legacy
}
