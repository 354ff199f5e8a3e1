/** The servers of the distributed shape by owner: the common ones, and the servers of each business that has its own. */
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { tenantTopicPrefix } from '../../subgraphs/thumbup/model/streams.ts'
import { openDatabase, type Database } from '../../stores/mysql/database.ts'
import { tenantsOf } from './thumbup.ts'
import type { Distributed } from './servers.ts'

/** A server of one set of stores. `business`: its owner. */
export type ServersOf = {
  business: string | undefined
  redis: Distributed['redis'] | undefined
  kafka: Distributed['kafka']
  mysql: Distributed['mysql'] | undefined
}

/** A tenant's marks have a stream of their own; shared events go to the common topics. */
export function ofTenant(business: string | undefined): { only?: 'marks' } {
  return business === undefined ? {} : { only: 'marks' }
}

export async function withDatabase<T>(clock: Clock, mysql: Distributed['mysql'], work: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase(clock, mysql)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** The common servers first, then the servers that businesses own. Empty on the embedded stores. */
export function allServersOf(config: Config): ServersOf[] {
  const { redis, kafka, mysql } = config.stores
  if (redis && kafka && mysql) {
    const tenants = tenantsOf(config).map((business) => ({
      business: business.name,
      redis: business.thumbup.stores?.redis,
      kafka: { ...kafka, topicPrefix: tenantTopicPrefix(kafka.topicPrefix, business.name) },
      mysql: business.thumbup.stores?.mysql,
    }))
    return [{ business: undefined, redis, kafka, mysql }, ...tenants]
  }
  return []
}
