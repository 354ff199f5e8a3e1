/**
 * Configuration → adapters. The adapters of servers, with their drivers, are in `distributed/`. They are loaded only if the configuration
 * needs them, which saves memory in a process on the embedded stores.
 */
import { join, relative } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import type { BusinessNumber } from '../../core/domain.ts'
import type { MarkStores } from '../../subgraphs/thumbup/stores/guarded.ts'
import type { SeenStores } from '../../subgraphs/feed-existence/stores/guarded.ts'
import { hasFeed } from '../../config/feed.ts'
import { openEmbeddedFeed, type FeedStores } from './feed.ts'
import { openEmbeddedSeen } from './feed-existence.ts'
import type { StoreLogger } from './servers.ts'
import { markJournalFolders, openEmbeddedMarks, type TenantStores } from './thumbup.ts'
import type { Config } from '../../config/config.ts'
import type { HotStore } from '../../subgraphs/history/stores/hot-store.ts'
import type { Journals, JournalView } from '../../writeback/journal.ts'
import { openEnvironment, type Environment } from '../../stores/lmdb/environment.ts'
import type { ChangeRelay, CountRelay } from '../../stores/lmdb/changes.ts'
import { openLmdbHotStore } from '../../subgraphs/history/stores/lmdb/hot-store.ts'
import { openLmdbJournals, viewLmdbJournals } from '../../writeback/stores/lmdb/journal.ts'
import { openLmdbLog } from '../../writeback/stores/lmdb/log.ts'
import { openLmdbRecordStore } from '../../subgraphs/history/stores/lmdb/record-store.ts'
import type { Log } from '../../writeback/log.ts'
import type { RecordStore } from '../../subgraphs/history/stores/record-store.ts'
import type { ProgressEvents } from '../../subgraphs/history/stores/progress-events.ts'

export type OpenStores = {
  hot: HotStore
  log: Log
  records: RecordStore
  /** If `history.progressTopic` is set. */
  progressEvents?: ProgressEvents | undefined
  /** The common stores of marks. */
  marks: MarkStores
  /** The stores of businesses with stores of their own. */
  tenants: ReadonlyMap<BusinessNumber, TenantStores>
  /** The stores of feed existence. */
  seen: SeenStores
  /** The stores of the feed. Undefined: the configuration has none. */
  feed: FeedStores | undefined
  /** The embedded stores: of all businesses, and of those with folders of their own. Undefined in the distributed shape. */
  embedded?: { environment: Environment; tenants: ReadonlyMap<BusinessNumber, Environment> }
  /** False while the embedded stores have no room for writes. Reads work. */
  takesWrites?(): boolean
  /** Rows and statements that a SQL record store sent. */
  sqlFigures?(): { rows: number; statements: number }
  /** Closes all stores. */
  close(): Promise<void>
}

/** Channels for changes between processes that share a data folder. */
export type Relays = { progress: ChangeRelay; counts: CountRelay }

/**
 * Opens the stores of the configured shape. `relays` carry changes between processes that share a data folder.
 * A server that does not answer is not an error here: later calls fail. Wrong credentials, schemas and region counts are errors:
 * DATA_INCOMPATIBLE, CONFIG_INVALID, TOPIC_MISSING.
 */
export async function openStores(config: Config, clock: Clock, logger: StoreLogger, relays?: Partial<Relays>): Promise<OpenStores> {
  const { redis, kafka, mysql } = config.stores
  if (!redis || !kafka || !mysql) return openEmbedded(config, clock, relays)
  const { openDistributed } = await import('./distributed/history.ts')
  return openDistributed(config, clock, logger, { redis, kafka, mysql })
}

/**
 * The journals of a process that takes writes. Undefined in the embedded shape: its hot store is on the same disk and fails only together
 * with a journal.
 */
export function openJournals(config: Config): Journals | undefined {
  const { data, redis, sizeMaxGb } = config.stores
  return redis === undefined ? undefined : openLmdbJournals(data, { sizeMaxGb })
}

/** The journals of the data folder for an operator, with or without running processes. */
export function viewJournals(config: Config): JournalView[] {
  const { data, sizeMaxGb } = config.stores
  return [data, ...markJournalFolders(data)].flatMap((folder) =>
    viewLmdbJournals(folder, { sizeMaxGb }).map((view) => ({ ...view, name: join(relative(data, folder), view.name) })),
  )
}

async function openEmbedded(config: Config, clock: Clock, { progress, counts }: Partial<Relays> = {}): Promise<OpenStores> {
  const { data, regions, sizeMaxGb } = config.stores
  const environment = openEnvironment(data, { regions, sizeMaxGb })
  const hot = openLmdbHotStore(environment, progress === undefined ? {} : { relay: progress })
  const log = openLmdbLog(environment, clock)
  const records = openLmdbRecordStore(environment)
  const { marks, tenants, folders, close: closeMarks } = openEmbeddedMarks(config, clock, environment, counts)
  const { seen, close: closeSeen } = await openEmbeddedSeen(config, clock, environment)
  const opened = hasFeed(config) ? openEmbeddedFeed(config, clock, environment) : undefined
  return {
    hot,
    log,
    records,
    marks,
    tenants,
    seen,
    feed: opened?.feed,
    embedded: { environment, tenants: folders },
    takesWrites: () => !environment.isFull(),
    async close() {
      await opened?.close()
      await closeSeen()
      await closeMarks()
      await log.close()
      await hot.close()
      await records.close()
      await environment.close()
    },
  }
}
