/** Configuration → adapters. The only file that names them all. */
import { mkdirSync } from 'node:fs'
import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { HotStore } from './hot-store.ts'
import { openEnvironment } from './lmdb/environment.ts'
import { openLmdbHotStore, type ChangeRelay } from './lmdb/hot-store.ts'
import { openLmdbLog } from './lmdb/log.ts'
import { openLmdbRecordStore } from './lmdb/record-store.ts'
import type { Log } from './log.ts'
import type { RecordStore } from './record-store.ts'

export type OpenStores = {
  hot: HotStore
  log: Log
  records: RecordStore
  /** Closes what is open, what was acknowledged first. */
  close(): Promise<void>
}

/**
 * Opens the three stores. `relay` carries changes between the processes that share a data folder.
 * Throws DATA_INCOMPATIBLE or the code of the store that cannot be opened.
 */
export async function openStores(config: Config, clock: Clock, relay?: ChangeRelay): Promise<OpenStores> {
  const { data, regions, mapSizeGb } = config.stores
  mkdirSync(data, { recursive: true })
  const environment = await openEnvironment(data, { regions, mapSizeGb })
  const hot = openLmdbHotStore(environment, relay === undefined ? {} : { relay })
  const log = openLmdbLog(environment, clock)
  const records = openLmdbRecordStore(environment)
  return {
    hot,
    log,
    records,
    async close() {
      await log.close()
      await hot.close()
      await records.close()
      await environment.close()
    },
  }
}
