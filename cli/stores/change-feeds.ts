/**
 * Configuration → change feeds of counts, one per database. A feed has the commits of every program, and falls back to Tidemark's own
 * events when it stalls. Only in the distributed shape, and only if a feed other than events is configured.
 */
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import type { BusinessNumber } from '../../core/domain.ts'
import { makeEventFeed } from '../../subgraphs/thumbup/change-feed/event-feed.ts'
import { partOfFeed } from '../../subgraphs/thumbup/change-feed/feed-part.ts'
import { mysqlAddress } from '../../config/store-addresses.ts'
import type { MarkEvents } from '../../subgraphs/thumbup/stores/events.ts'
import type { CountFeed } from '../../subgraphs/thumbup/change-feed/count-feed.ts'
import { makeCanalFeed } from '../../subgraphs/thumbup/change-feed/kafka/canal-feed.ts'
import { makeBinlogFeed } from '../../subgraphs/thumbup/change-feed/mysql/binlog-feed.ts'
import { openDatabase } from '../../stores/mysql/database.ts'
import { makeBeatWriter } from '../../subgraphs/thumbup/change-feed/mysql/feed-places.ts'
import { tenantsOf } from './thumbup.ts'
import { kafkaConnection, type Distributed, type StoreLogger } from './servers.ts'

export type OpenFeed = {
  /** The business with this database. Undefined for the common database. */
  tenant: string | undefined
  primary: CountFeed
  fallback: CountFeed
  close(): Promise<void>
}

/** `name`: the unique name of this process. */
export function openCountFeeds(config: Config, clock: Clock, logger: StoreLogger, name: string, events: MarkEvents): OpenFeed[] {
  const { redis, kafka, mysql } = config.stores
  const { feed } = config.thumbup.changes
  if (redis === undefined || kafka === undefined || mysql === undefined || feed === 'events') return []
  const own = tenantsOf(config).flatMap(({ number, name: tenant, thumbup }) => {
    const server = thumbup.stores?.mysql
    return server === undefined ? [] : [{ tenant, mysql: server, isOurs: (business: BusinessNumber) => business === number }]
  })
  const databases = [
    { tenant: undefined, mysql, isOurs: (business: BusinessNumber) => !own.some(({ isOurs }) => isOurs(business)) },
    ...own,
  ]
  return databases.map(({ tenant, mysql: server, isOurs }) => {
    const ownName = tenant === undefined ? name : `${name}.${tenant}`
    const database = openDatabase(clock, server)
    const primary =
      feed === 'binlog'
        ? makeBinlogFeed(database, { name: ownName, mysql: server }, { clock, logger })
        : canalFeed(config, { redis, kafka, mysql: server }, ownName, makeBeatWriter(database), clock, logger)
    return {
      tenant,
      primary: partOfFeed(primary, isOurs),
      // Events of all businesses are in one topic.
      fallback: partOfFeed(makeEventFeed(events, `changes-${ownName}`), isOurs),
      close: () => database.close(),
    }
  })
}

function canalFeed(
  config: Config,
  { kafka, mysql }: Distributed,
  name: string,
  writeBeat: ReturnType<typeof makeBeatWriter>,
  clock: Clock,
  logger: StoreLogger,
): CountFeed {
  const options = {
    connection: kafkaConnection(kafka),
    topic: config.thumbup.changes.canalTopic as string,
    database: mysqlAddress(mysql, 'the url of the record store').database,
    name,
    topicPrefix: kafka.topicPrefix,
  }
  return makeCanalFeed(writeBeat, options, { clock, logger })
}
