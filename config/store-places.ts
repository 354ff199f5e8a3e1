/**
 * The places of stores, as far as addresses show them. Two stores in one place would share keys or tables, and an outage
 * of one would affect the other. One server under two names is not detected.
 */
import { isTidemarkError } from '../core/errors.ts'
import { checkPrefix, mysqlAddress, redisAddresses, type MysqlSettings } from './store-addresses.ts'

type RedisServer = { urls: readonly string[]; cluster?: boolean | undefined; prefix: string }
type Redis = RedisServer & { second?: RedisServer | undefined }
type Stores = { redis?: Redis | undefined; mysql?: MysqlSettings | undefined }

/** A configured server with its mistakes, or with the places that it takes. */
type Server = { kind: 'redis' | 'mysql'; setting: string; holder: string; mistakes: string[]; places: string[] }

const HOME = new Set(['localhost', '127.0.0.1', '::1'])
const OTHERS = { redis: 'prefix or database number', mysql: 'schema' } as const

/**
 * One sentence per store in the place of another store, and per address that cannot be connected to. Without this check, such a mistake of
 * one business would stop the start of the whole deployment, with a message about another setting.
 */
export function placeMistakes(common: Stores, tenants: readonly { name: string; own: Stores }[]): string[] {
  const servers = [
    ...serversOf(common, 'stores', undefined),
    ...tenants.flatMap(({ name, own }) => serversOf(own, `businesses: ${name}: thumbup.stores`, name)),
  ]
  return [...servers.flatMap(({ mistakes }) => mistakes), ...sharedPlaces(servers)]
}

function serversOf({ redis, mysql }: Stores, under: string, name: string | undefined): Server[] {
  const servers: Server[] = []
  const add = (kind: Server['kind'], setting: string, holder: string, placesOf: () => string[]) => {
    const [mistakes, places] = placesIn(placesOf)
    servers.push({ kind, setting, holder, mistakes, places })
  }
  if (redis !== undefined) add('redis', `${under}.redis`, name ?? 'stores.redis', () => redisPlaces(redis, `${under}.redis`))
  const second = redis?.second
  if (second !== undefined) {
    const holder = name === undefined ? 'stores.redis.second' : `${name}, its second`
    add('redis', `${under}.redis.second`, holder, () => redisPlaces(second, `${under}.redis.second`))
  }
  if (mysql !== undefined) add('mysql', `${under}.mysql`, name ?? 'stores.mysql', () => mysqlPlaces(mysql, `${under}.mysql.url`))
  return servers
}

function placesIn(placesOf: () => string[]): [mistakes: string[], places: string[]] {
  try {
    return [[], placesOf()]
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    return [[error.message], []]
  }
}

/** A Redis: server, database number and key prefix. Each node of a Cluster counts. */
function redisPlaces(server: RedisServer, setting: string): string[] {
  checkPrefix(server.prefix, setting)
  const { first, all, isCluster } = redisAddresses(server, setting)
  return (isCluster ? all : [first]).map((address) => `${placeOf(address)}/${address.database} ${server.prefix}`)
}

/** A database: server and schema. */
function mysqlPlaces(settings: MysqlSettings, setting: string): string[] {
  const address = mysqlAddress(settings, setting)
  return [`${placeOf(address)}/${address.database}`]
}

/** Names mean the same in capitals, and with the dot that ends them. */
function placeOf({ host, port }: { host: string; port: number }): string {
  const name = host.toLowerCase().replace(/\.$/, '')
  return `${HOME.has(name) ? 'localhost' : name}:${port}`
}

/** One sentence per server in the place of an earlier server. */
function sharedPlaces(servers: readonly Server[]): string[] {
  const holders = new Map<string, string>()
  return servers.flatMap(({ kind, setting, holder, places }) => {
    const named = places.map((place) => `${kind} ${place}`)
    const other = named.map((place) => holders.get(place)).find((each) => each !== undefined)
    for (const place of named) if (!holders.has(place)) holders.set(place, holder)
    if (other === undefined) return []
    const advice = `give it another server, ${OTHERS[kind]}, or leave it out${setting.endsWith('.second') ? '' : ' to share'}`
    return [`${setting} is that of ${other}: ${advice}`]
  })
}
