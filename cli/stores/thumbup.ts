/**
 * Configuration → the stores of marks, on the servers or in the data folder of history (`history.ts`).
 *
 * A business may have stores of its own (`businesses[].thumbup.stores`): a data folder in the embedded shape, a Redis or a database in the
 * distributed shape. Such a business always has a log stream of its own, so that other businesses do not wait for its database.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import type { BusinessConfig, Config } from '../../config/config.ts'
import type { BusinessNumber } from '../../core/domain.ts'
import type { MarkStores } from '../../subgraphs/thumbup/stores/guarded.ts'
import type { CountRelay } from '../../stores/lmdb/changes.ts'
import { openLmdbCountCache } from '../../subgraphs/thumbup/stores/lmdb/count-cache.ts'
import { openEnvironment, type Environment } from '../../stores/lmdb/environment.ts'
import { openLmdbJournals } from '../../writeback/stores/lmdb/journal.ts'
import { openLmdbLog } from '../../writeback/stores/lmdb/log.ts'
import { openLmdbMarkEvents } from '../../subgraphs/thumbup/stores/lmdb/events.ts'
import { openLmdbMarkRecords } from '../../subgraphs/thumbup/stores/lmdb/record-store.ts'
import { openLmdbMarkStore } from '../../subgraphs/thumbup/stores/lmdb/hot-store.ts'
import type { Journals } from '../../writeback/journal.ts'
import type { MarkRecords } from '../../subgraphs/thumbup/stores/record-store.ts'
import { closeAll, WINDOW_KEYS_MAX, type Distributed } from './servers.ts'

export type OpenMarks = {
  /** The common stores. */
  marks: MarkStores
  tenants: ReadonlyMap<BusinessNumber, TenantStores>
  close(): Promise<void>
}

/** `takesWrites`: false while the embedded stores of the tenant have no room. */
export type TenantStores = MarkStores & { takesWrites?(): boolean }

const WINDOW_MESSAGES_MAX = 50_000

/** `folders`: the data folders of tenants. */
export type EmbeddedMarks = OpenMarks & { folders: ReadonlyMap<BusinessNumber, Environment> }

export function openEmbeddedMarks(config: Config, clock: Clock, environment: Environment, relay: CountRelay | undefined): EmbeddedMarks {
  const { regions, sizeMaxGb } = config.stores
  const tenants = tenantsOf(config).map(({ number, thumbup }) => {
    const own = openEnvironment(thumbup.stores?.data as string, { regions, sizeMaxGb })
    return { number, own, stores: { ...openIn(own, clock, relay), takesWrites: () => !own.isFull() } }
  })
  const marks = openIn(environment, clock, relay)
  return {
    marks,
    tenants: new Map(tenants.map(({ number, stores }) => [number, stores])),
    folders: new Map(tenants.map(({ number, own }) => [number, own])),
    async close() {
      for (const stores of [marks, ...tenants.map((tenant) => tenant.stores)]) await closeMarks(stores)
      for (const { own } of tenants) await own.close()
    },
  }
}

function openIn(environment: Environment, clock: Clock, relay: CountRelay | undefined): MarkStores {
  return {
    hot: openLmdbMarkStore(environment),
    cache: openLmdbCountCache(environment, relay === undefined ? {} : { relay }),
    log: openLmdbLog(environment, clock, { stream: 'marks', keysMax: WINDOW_KEYS_MAX, messagesMax: WINDOW_MESSAGES_MAX }),
    records: openLmdbMarkRecords(environment),
    events: openLmdbMarkEvents(environment, clock),
  }
}

/**
 * The record stores of marks alone, for operators. `of` returns the store of a business, or throws the mistake in its settings. No other
 * server is contacted. A server that refuses the connection fails at the first call.
 */
export type OpenMarkRecords = { of(business: BusinessNumber): MarkRecords; close(): Promise<void> }

export async function openMarkRecords(config: Config, clock: Clock): Promise<OpenMarkRecords> {
  const { data, regions, sizeMaxGb, mysql } = config.stores
  const opened: { close(): Promise<void> }[] = []
  async function open(folder: string, server: Distributed['mysql'] | undefined): Promise<MarkRecords> {
    if (server !== undefined) {
      const { openMysqlMarkRecords } = await import('../../subgraphs/thumbup/stores/mysql/record-store.ts')
      const records = await openMysqlMarkRecords({ ...server, regions, mayBeUnfit: true }, clock)
      opened.push(records)
      return records
    }
    const environment = openEnvironment(folder, { regions, sizeMaxGb })
    opened.push(environment)
    return openLmdbMarkRecords(environment)
  }

  try {
    const common = await open(data, mysql)
    const own = new Map<BusinessNumber, { records: MarkRecords } | { failure: unknown }>()
    for (const { number, thumbup } of tenantsOf(config)) {
      const { stores } = thumbup
      // A business with only its own hot store has its records in the common store.
      if (stores?.mysql === undefined && stores?.data === undefined) continue
      const opening = open(stores.data ?? data, stores.mysql)
      own.set(
        number,
        await opening.then(
          (records) => ({ records }),
          (failure: unknown) => ({ failure }),
        ),
      )
    }
    return {
      of(business) {
        const found = own.get(business)
        if (found === undefined) return common
        if ('failure' in found) throw found.failure
        return found.records
      },
      close: () => closeAll(opened),
    }
  } catch (error) {
    await closeAll(opened)
    throw error
  }
}

/**
 * The journals of marks in a process that takes marks, one per set of stores. The journal of the common stores also adopts the folders of
 * businesses that no longer have stores of their own.
 */
export function openMarkJournals(config: Config, tenant?: BusinessConfig): Journals | undefined {
  const { data, redis, sizeMaxGb } = config.stores
  if (redis === undefined) return undefined
  const folder = markJournalsFolder(data, tenant)
  if (tenant !== undefined) return openLmdbJournals(folder, { sizeMaxGb })
  const used = new Set([undefined, ...tenantsOf(config)].map((each) => markJournalsFolder(data, each)))
  return openLmdbJournals(folder, { sizeMaxGb, abandoned: markJournalFolders(data).filter((each) => !used.has(each)) })
}

/** All existing folders, including those of businesses that left the configuration. */
export function markJournalFolders(data: string): string[] {
  const names = existsSync(data) ? readdirSync(data).filter((name) => name === 'marks' || name.startsWith('marks-')) : []
  return names.sort().map((name) => join(data, name))
}

function markJournalsFolder(data: string, tenant: BusinessConfig | undefined): string {
  return join(data, tenant === undefined ? 'marks' : `marks-${tenant.name}`)
}

/** The setting with the Redis of a business. */
export function redisSettingOf(tenant: string | undefined): string {
  return tenant === undefined ? 'stores.redis' : `businesses: ${tenant}: thumbup.stores.redis`
}

/** Businesses with stores of their own. */
export function tenantsOf(config: Config): BusinessConfig[] {
  return config.businesses.filter(({ thumbup }) => thumbup.stores !== undefined)
}

async function closeMarks({ log, events, hot, cache, records }: MarkStores): Promise<void> {
  await closeAll([records, cache, hot, events, log])
}
