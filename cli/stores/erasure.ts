/**
 * Configuration → the places that may have data of a viewer, in the order of an erasure. A hot store comes before its record store, so that
 * no flush brings contents back, and the logs and journals come last.
 *
 * On servers, the places have connections of their own, one per server.
 */
import type { Clock } from '../../core/clock.ts'
import { FOLLOW_BUSINESS } from '../../config/feed.ts'
import { legacyBusinesses } from '../../config/legacy.ts'
import { legacyKey } from '../../config/legacy-key.ts'
import type { BusinessConfig, Config } from '../../config/config.ts'
import type { BusinessNumber, ViewerId } from '../../core/domain.ts'
import type { Traces } from '../../core/erasure/traces.ts'
import { systemRandom } from '../../core/random.ts'
import type { Environment } from '../../stores/lmdb/environment.ts'
import { openCheckedDatabase } from '../../stores/mysql/checked-database.ts'
import type { Database } from '../../stores/mysql/database.ts'
import { makeMysqlTraces, type TracedRows } from '../../stores/mysql/traces.ts'
import { makeTransactions } from '../../stores/mysql/transactions.ts'
import { connect, type Connection } from '../../stores/redis/connection.ts'
import { counterSchemasOf } from '../../subgraphs/feed/counters/schemas.ts'
import { USERS } from '../../subgraphs/feed/model/post-events.ts'
import { openFeedTraces as openLmdbFeedTraces } from '../../subgraphs/feed/stores/lmdb/traces.ts'
import { COUNTER_ROWS, FEED_ROWS, openFeedRecordTraces } from '../../subgraphs/feed/stores/mysql/traces.ts'
import { openCounterTraces, openFeedTraces } from '../../subgraphs/feed/stores/redis/traces.ts'
import { hotTracesOf, type FeedTraces } from '../../subgraphs/feed/stores/traces.ts'
import { openSeenTraces as openLmdbSeenTraces } from '../../subgraphs/feed-existence/stores/lmdb/traces.ts'
import { SEEN_ROWS } from '../../subgraphs/feed-existence/stores/mysql/traces.ts'
import { openLegacyTraces, openSeenTraces } from '../../subgraphs/feed-existence/stores/redis/traces.ts'
import { openHistoryTraces as openLmdbHistoryTraces } from '../../subgraphs/history/stores/lmdb/traces.ts'
import { HISTORY_ROWS } from '../../subgraphs/history/stores/mysql/traces.ts'
import { openHistoryTraces } from '../../subgraphs/history/stores/redis/traces.ts'
import { openMarkEventTraces, openMarkTraces } from '../../subgraphs/thumbup/stores/lmdb/traces.ts'
import { openMarkRecordTraces } from '../../subgraphs/thumbup/stores/mysql/traces.ts'
import { openMarkCacheTraces, openMarkHotTraces } from '../../subgraphs/thumbup/stores/redis/traces.ts'
import type { MarkCacheTraces, MarkTraces } from '../../subgraphs/thumbup/stores/traces.ts'
import { makeMarkErasure, type MarkErasureOptions } from '../../subgraphs/thumbup/write/erasure.ts'
import { openLogTraces } from '../../writeback/stores/lmdb/traces.ts'
import { viewJournals, type OpenStores } from './history.ts'
import type { Distributed } from './servers.ts'
import { tenantsOf } from './thumbup.ts'

/** A place that does not answer is reported, and the command is repeated. */
const RETRY_MAX_MS = 2_000

export type ErasurePlace = Traces & { name: string }
export type ErasurePlaces = { places: ErasurePlace[]; close(): Promise<void> }

type Closing = (() => Promise<void> | void)[]
type MarkSet = { name: string; traces: MarkTraces; stores: Parameters<typeof makeMarkErasure>[0]; options: MarkErasureOptions }
type Opened = {
  history: { hot: Traces; records: Traces }
  seen: { hot: Traces; records: Traces }
  legacy: Traces | undefined
  feed: FeedTraces | undefined
  marks: readonly MarkSet[]
  /** Embedded logs. Topics of Kafka expire. */
  logs: readonly ErasurePlace[]
}

/** `eraseFeed`: deletes posts, filter words and follows in the usual way. Undefined: there is no feed. */
export async function openErasurePlaces(
  config: Config,
  clock: Clock,
  stores: OpenStores,
  eraseFeed: ((viewer: ViewerId) => Promise<number>) | undefined,
): Promise<ErasurePlaces> {
  const closing: Closing = []
  const { redis, kafka, mysql } = config.stores
  const opened =
    stores.embedded !== undefined
      ? openEmbedded(config, stores, stores.embedded, closing)
      : await openDistributed(config, clock, stores, { redis, kafka, mysql } as Distributed, closing)
  const journals = viewJournals(config)
  closing.push(async () => {
    for (const journal of journals) await journal.close()
  })
  const { history, seen, legacy, feed, marks, logs } = opened
  const places: ErasurePlace[] = []
  const add = (name: string, traces: Traces | undefined): void => {
    if (traces !== undefined) places.push({ name, erase: traces.erase, count: traces.count })
  }
  if (eraseFeed !== undefined) add('feed: posts, inbox, filter words and follows', { erase: eraseFeed, count: () => Promise.resolve(0) })
  add('feed: hot store', feed && hotTracesOf(feed))
  add('feed: record store', feed?.records)
  add('feed counters: hot store', feed?.counters.hot)
  add('feed counters: record store', feed?.counters.records)
  add('history: hot store', history.hot)
  add('history: record store', history.records)
  for (const { name, traces, stores: markStores, options } of marks) {
    const erasure = makeMarkErasure(markStores, traces, options)
    add(`${name}: hot store`, erasure.hot)
    add(`${name}: record store`, erasure.records)
    add(`${name}: outbox`, erasure.outbox)
  }
  add('feed existence: hot store', seen.hot)
  add('feed existence: record store', seen.records)
  add('feed existence: legacy store', legacy)
  for (const { name, ...traces } of logs) add(name, traces)
  for (const journal of journals) add(`journal: ${journal.name}`, journal.traces)
  return {
    places,
    async close() {
      for (const close of closing) await close()
    },
  }
}

/** The businesses of each set of stores. Marks of a business that left the configuration are in no set: no port lists such businesses. */
function markSetsOf(config: Config, stores: OpenStores, tracesOf: (tenant: BusinessConfig | undefined) => MarkTraces): MarkSet[] {
  const tenants = tenantsOf(config)
  const common = config.businesses.filter((business) => !tenants.includes(business)).map(({ number }) => number)
  const follows = stores.feed === undefined ? undefined : FOLLOW_BUSINESS
  const own = tenants.flatMap((tenant): MarkSet[] => {
    const ownStores = stores.tenants.get(tenant.number)
    if (ownStores === undefined) return []
    const options = { businesses: [tenant.number], follows: undefined }
    return [{ name: `marks of ${tenant.name}`, traces: tracesOf(tenant), stores: ownStores, options }]
  })
  const businesses: BusinessNumber[] = follows === undefined ? common : [...common, follows]
  return [{ name: 'marks', traces: tracesOf(undefined), stores: stores.marks, options: { businesses, follows } }, ...own]
}

function openEmbedded(
  config: Config,
  stores: OpenStores,
  { environment, tenants }: NonNullable<OpenStores['embedded']>,
  closing: Closing,
): Opened {
  const seen = openLmdbSeenTraces(environment)
  const inFolder = (tenant: BusinessConfig | undefined): Environment => (tenant && tenants.get(tenant.number)) ?? environment
  const logsIn = (folder: Environment, of: string): ErasurePlace[] => [
    { name: `log: keys of marks${of}`, ...openLogTraces(folder, 'marks') },
    { name: `log: events of marks${of}`, ...openMarkEventTraces(folder) },
  ]
  return {
    history: openLmdbHistoryTraces(environment),
    seen,
    legacy: openLegacy(config, closing),
    feed: stores.feed && openLmdbFeedTraces(environment, counterSchemasOf(config)),
    marks: markSetsOf(config, stores, (tenant) => openMarkTraces(inFolder(tenant))),
    logs: [
      { name: 'log: keys and rewards of history', ...openLogTraces(environment, 'history') },
      ...logsIn(environment, ''),
      ...tenantsOf(config).flatMap((tenant) => logsIn(inFolder(tenant), ` of ${tenant.name}`)),
      { name: 'log: plays', ...seen.log },
      { name: 'log: keys of the feed', ...openLogTraces(environment, 'feed') },
    ],
  }
}

async function openDistributed(config: Config, clock: Clock, stores: OpenStores, common: Distributed, closing: Closing): Promise<Opened> {
  const { regions } = config.stores
  const numbers = config.businesses.map(({ number }) => number)

  function connectTo(redis: Distributed['redis'] | NonNullable<Distributed['redis']['second']>): Connection {
    const connection = connect({ ...redis, retryMaxMs: RETRY_MAX_MS })
    closing.push(() => connection.close())
    return connection
  }
  async function openOn(mysql: Distributed['mysql'], isTenant: boolean) {
    const database = await openCheckedDatabase({ ...mysql, regions, mayBeUnfit: isTenant }, clock)
    closing.push(() => database.close())
    return { database, rows: (all: readonly TracedRows[]) => makeMysqlTraces(database, clock, systemRandom, all) }
  }

  const { redis, mysql } = common
  const connection = connectTo(redis)
  const records = await openOn(mysql, false)
  const keys = { prefix: redis.prefix, regions }
  const userEntryBytes = counterSchemasOf(config).get(USERS)?.entryBytes
  const tenantDatabases = new Map<BusinessNumber, Database>()
  for (const { number, thumbup } of tenantsOf(config))
    if (thumbup.stores?.mysql !== undefined) tenantDatabases.set(number, (await openOn(thumbup.stores.mysql, true)).database)

  function markTracesOf(tenant: BusinessConfig | undefined): MarkTraces {
    const own = tenant?.thumbup.stores?.redis
    const server = own ?? redis
    const hot = own === undefined ? connection : connectTo(own)
    const database = (tenant && tenantDatabases.get(tenant.number)) ?? records.database
    const second =
      server.second === undefined ? [] : [openMarkCacheTraces(connectTo(server.second), { prefix: server.second.prefix, regions })]
    return {
      hot: openMarkHotTraces(hot, { prefix: server.prefix, regions }),
      cache: joinCaches([openMarkCacheTraces(hot, { prefix: server.prefix, regions }), ...second]),
      records: openMarkRecordTraces(database, makeTransactions(database, clock, systemRandom)),
    }
  }

  const feed: FeedTraces | undefined = stores.feed && {
    hot: openFeedTraces(connection, stores.feed.hot, keys),
    records: openFeedRecordTraces(records.database, records.rows(FEED_ROWS)),
    counters: { hot: openCounterTraces(connection, userEntryBytes ?? 0, keys), records: records.rows(COUNTER_ROWS) },
  }
  return {
    history: { hot: openHistoryTraces(connection, stores.hot, numbers, keys), records: records.rows(HISTORY_ROWS) },
    seen: { hot: openSeenTraces(connection, stores.seen.hot, numbers, keys), records: records.rows(SEEN_ROWS) },
    legacy: openLegacy(config, closing),
    feed,
    marks: markSetsOf(config, stores, markTracesOf),
    logs: [],
  }
}

function joinCaches(caches: readonly MarkCacheTraces[]): MarkCacheTraces {
  const sum = async (ask: (cache: MarkCacheTraces) => Promise<number>): Promise<number> => {
    let total = 0
    for (const cache of caches) total += await ask(cache)
    return total
  }
  return {
    async forgetLikers(subjects) {
      for (const cache of caches) await cache.forgetLikers(subjects)
    },
    forgetOwner: (business, owner) => sum((cache) => cache.forgetOwner(business, owner)),
    forgetSubject: (subject) => sum((cache) => cache.forgetSubject(subject)),
    count: (viewer, business) => sum((cache) => cache.count(viewer, business)),
  }
}

/** The sorted sets from which viewers are migrated. */
function openLegacy({ existence: { legacy }, businesses }: Config, closing: Closing): Traces | undefined {
  if (legacy === undefined) return undefined
  const connection = connect({ ...legacy, setting: 'existence.legacy' })
  closing.push(() => connection.close())
  const of = legacyBusinesses(legacy, businesses)
  return openLegacyTraces(connection, (viewer) =>
    of.map(({ name, number }) => legacyKey(legacy.key, { viewer, business: name, number: String(number) })),
  )
}
