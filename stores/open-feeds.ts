/**
 * Configuration → change feeds of counts, one per database: what was committed there, whoever committed it, and the service's
 * own events for when that stalls. Only in the distributed shape, and only if a feed other than events is configured.
 */
import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { makeEventFeed } from '../core/event-feed.ts'
import type { MarkEvents } from './mark-events.ts'
import type { CountFeed } from './count-feed.ts'
import { makeCanalFeed } from './kafka/canal-feed.ts'
import { makeBinlogFeed } from './mysql/binlog-feed.ts'
import { openDatabase } from './mysql/database.ts'
import { makeBeatWriter } from './mysql/feed-places.ts'
import { tenantsOf } from './open-marks.ts'
import { kafkaConnection, type Distributed, type StoreLogger } from './servers.ts'

export type OpenFeed = {
  /** Of which business; undefined: of all that have no database of their own. */
  tenant: string | undefined
  primary: CountFeed
  fallback: CountFeed
  close(): Promise<void>
}

/** `name`: of this process, like no other's. */
export function openCountFeeds(config: Config, clock: Clock, logger: StoreLogger, name: string, events: MarkEvents): OpenFeed[] {
  const { redis, kafka, mysql } = config.stores
  const { feed } = config.thumbup.changes
  if (redis === undefined || kafka === undefined || mysql === undefined || feed === 'events') return []
  const databases = [
    { tenant: undefined, mysql },
    ...tenantsOf(config).flatMap((tenant) => {
      const own = tenant.thumbup.stores?.mysql
      return own === undefined ? [] : [{ tenant: tenant.name, mysql: own }]
    }),
  ]
  return databases.map(({ tenant, mysql: server }) => {
    const ownName = tenant === undefined ? name : `${name}.${tenant}`
    const database = openDatabase(clock, server)
    return {
      tenant,
      primary:
        feed === 'binlog'
          ? makeBinlogFeed(database, { name: ownName, mysql: server }, { clock, logger })
          : canalFeed(config, { redis, kafka, mysql: server }, ownName, makeBeatWriter(database), clock, logger),
      fallback: makeEventFeed(events, `changes-${ownName}`),
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
    database: new URL(mysql.url).pathname.slice(1),
    name,
    topicPrefix: kafka.topicPrefix,
  }
  return makeCanalFeed(writeBeat, options, { clock, logger })
}
