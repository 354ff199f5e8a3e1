/** Configuration → the stores of feed existence, on the servers or in the data folder of history (`history.ts`). */
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { ringOf } from '../../config/feed-existence.ts'
import type { SeenStores } from '../../subgraphs/feed-existence/stores/guarded.ts'
import type { Environment } from '../../stores/lmdb/environment.ts'
import { openLmdbPlayLog } from '../../subgraphs/feed-existence/stores/lmdb/play-log.ts'
import { openLmdbSeenRecords } from '../../subgraphs/feed-existence/stores/lmdb/record-store.ts'
import { openLmdbSeenStore } from '../../subgraphs/feed-existence/stores/lmdb/hot-store.ts'

export type OpenSeen = { seen: SeenStores; close(): Promise<void> }

export async function openEmbeddedSeen(config: Config, clock: Clock, environment: Environment): Promise<OpenSeen> {
  const migrates = config.existence.legacy !== undefined
  const seen = {
    hot: openLmdbSeenStore(environment, ringOf(config)),
    log: openLmdbPlayLog(environment, clock),
    records: openLmdbSeenRecords(environment),
    legacy: migrates ? (await import('./distributed/legacy.ts')).openLegacy(config, clock) : undefined,
  }
  return { seen, close: () => closeSeen(seen) }
}

export async function closeSeen({ hot, log, records, legacy }: SeenStores): Promise<void> {
  await legacy?.close()
  await log.close()
  await hot.close()
  await records.close()
}
