/** Configuration → the Redis from which viewers are migrated. A deployment on the embedded stores may have one too. */
import type { Clock } from '../../../core/clock.ts'
import type { Config } from '../../../config/config.ts'
import type { LegacyPlays } from '../../../subgraphs/feed-existence/stores/legacy-plays.ts'
import { openRedisLegacyPlays } from '../../../subgraphs/feed-existence/stores/redis/legacy-plays.ts'

/** Connects in the background and never fails. */
export function openLegacy({ existence: { legacy }, businesses }: Config, clock: Clock): LegacyPlays | undefined {
  if (legacy === undefined) return undefined
  return openRedisLegacyPlays({ ...legacy, names: new Map(businesses.map(({ number, name }) => [number, name])) }, clock)
}
