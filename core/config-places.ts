/**
 * Where stores are, as far as addresses say: two that name the same place would share keys or tables, and what happens to
 * one of them would happen to the other. A server under two names is not found out.
 */
import { isTidemarkError } from './errors.ts'
import { checkPrefix, mysqlAddress, redisAddresses, type MysqlSettings } from './store-addresses.ts'

type RedisServer = { urls: readonly string[]; cluster?: boolean | undefined; prefix: string }
type Redis = RedisServer & { second?: RedisServer | undefined }
type Mysql = MysqlSettings
type Stores = { redis?: Redis | undefined; mysql?: Mysql | undefined }

const HOME = new Set(['localhost', '127.0.0.1', '[::1]'])

function serverOf(text: string, port: string): { server: string; path: string } | undefined {
  if (!URL.canParse(text)) return undefined
  const { hostname, port: given, pathname } = new URL(text)
  const host = hostname.toLowerCase()
  return { server: `${HOME.has(host) ? 'localhost' : host}:${given || port}`, path: pathname.slice(1) }
}

/** Of a Redis: server, database number and prefix of the keys. Of a Cluster each node counts. */
function redisPlaces({ urls, prefix }: Redis): string[] {
  return urls.flatMap((url) => {
    const place = serverOf(url, '6379')
    return place === undefined ? [] : [`${place.server}/${Number(place.path || '0')} ${prefix}`]
  })
}

/** Of a database: server and schema. */
function mysqlPlaces({ url }: Mysql): string[] {
  const place = serverOf(url, '3306')
  return place === undefined ? [] : [`${place.server}/${place.path}`]
}

/**
 * Sentences for addresses that nobody can connect to: of a business they would keep the whole deployment from starting, and
 * it would be said of a setting that nobody has made.
 */
export function addressMistakes({ redis, mysql }: Stores, setting: string): string[] {
  const servers = [
    { server: redis, name: `${setting}.redis` },
    { server: redis?.second, name: `${setting}.redis.second` },
  ]
  return [
    ...servers.flatMap(({ server, name }) => {
      if (server === undefined) return []
      return [...mistakeIn(() => redisAddresses(server, name)), ...mistakeIn(() => checkPrefix(server.prefix, name))]
    }),
    ...(mysql === undefined ? [] : mistakeIn(() => mysqlAddress(mysql, `${setting}.mysql.url`))),
  ]
}

function mistakeIn(read: () => unknown): string[] {
  try {
    read()
    return []
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    return [error.message]
  }
}

/** Sentences for each tenant whose own store is the common one, or that of a tenant before it. */
export function sharedPlaces(common: Stores, tenants: readonly { name: string; own: Stores }[]): string[] {
  const mistakes: string[] = []
  const kinds = [
    { key: 'redis', placesOf: ({ redis }: Stores) => (redis === undefined ? [] : redisPlaces(redis)), other: 'prefix or database number' },
    { key: 'mysql', placesOf: ({ mysql }: Stores) => (mysql === undefined ? [] : mysqlPlaces(mysql)), other: 'schema' },
  ]
  for (const { key, placesOf, other } of kinds) {
    const holders = new Map(placesOf(common).map((place) => [place, `stores.${key}`]))
    for (const { name, own } of tenants) {
      const places = placesOf(own)
      const holder = places.map((place) => holders.get(place)).find((each) => each !== undefined)
      if (holder !== undefined) {
        const advice = `give it another server, ${other}, or leave it out to share`
        mistakes.push(`businesses: ${name}: thumbup.stores.${key} is that of ${holder}: ${advice}`)
      }
      for (const place of places) if (!holders.has(place)) holders.set(place, name)
    }
  }
  return mistakes
}
