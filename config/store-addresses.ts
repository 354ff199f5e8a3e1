/**
 * Parses addresses of stores by one rule for all uses: connecting, validating a configuration, and comparing places
 * (`store-places.ts`). A mistake is CONFIG_INVALID with one sentence. The sentence begins with the setting and never
 * repeats a password.
 */
import { isIP } from 'node:net'
import { TidemarkError } from '../core/errors.ts'

export type RedisAddress = {
  host: string
  port: number
  database: number
  tls: boolean
  username: string | undefined
  password: string | undefined
}

export type MysqlAddress = { host: string; port: number; database: string; user: string; password: string }

/** An address without its credentials, for messages. */
export function bareAddress(text: string): string {
  return text.replace(/^\w+:\/\//, '').replace(/^.*@/, '')
}

/** `setting`: where it is configured. */
export function redisAddress(text: string, setting: string): RedisAddress {
  const wrong = (sentence: string) => new TidemarkError('CONFIG_INVALID', `${setting}: ${sentence}`)
  const bare = bareAddress(text)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'redis:' && url.protocol !== 'rediss:') || url.hostname === '')
    throw wrong(`${bare} is not an address of a Redis server: write redis://host:port, or rediss:// for TLS`)
  const [, database] = /^\/?(\d{0,9})$/.exec(url.pathname) ?? []
  if (database === undefined) throw wrong(`"${url.pathname}" in ${bare} is not a database number: use 0 to 15`)
  if (url.search !== '' || url.hash !== '')
    throw wrong(`the address of ${bare.replace(/[?#].*$/s, '')} has parameters, which are settings of their own here: leave them out`)
  const decoded = (part: string): string | undefined => {
    try {
      return part === '' ? undefined : decodeURIComponent(part)
    } catch {
      const sentence = `the credentials in the address of ${bare} have a % that begins no code`
      throw wrong(`${sentence}: write % as %25, or set TIDEMARK_REDIS_PASSWORD`)
    }
  }
  return {
    host: hostOf(url),
    port: url.port === '' ? 6379 : Number(url.port),
    database: Number(database),
    tls: url.protocol === 'rediss:',
    username: decoded(url.username),
    password: decoded(url.password),
  }
}

/** The addresses of a Redis, at least one; of a Cluster several. */
export function redisAddresses(
  { urls, cluster = urls.length > 1 }: { urls: readonly string[]; cluster?: boolean | undefined },
  setting: string,
): { first: RedisAddress; all: RedisAddress[]; isCluster: boolean } {
  const all = urls.map((url) => redisAddress(url, setting))
  const [first] = all
  if (first === undefined)
    throw new TidemarkError('CONFIG_INVALID', `${setting}: no address is given; name at least one, such as redis://127.0.0.1:6379`)
  const numbered = all.find(({ database }) => database !== 0)
  if (cluster && numbered !== undefined) {
    const advice = 'leave it out, and give deployments that share it a prefix each'
    throw new TidemarkError('CONFIG_INVALID', `${setting}: a Cluster has database 0 only, and ${numbered.database} is named: ${advice}`)
  }
  return { first, all, isCluster: cluster }
}

export type MysqlSettings = { url: string; user?: string | undefined; password?: string | undefined; tls?: unknown }

/** `subject` begins each message. No message repeats the url, because it may contain a password. */
export function mysqlAddress({ url: text, user, password, tls = false }: MysqlSettings, subject: string): MysqlAddress {
  const wrong = (what: string) => new TidemarkError('CONFIG_INVALID', `${subject} ${what}: use mysql://user:password@host:3306/database`)
  if (!URL.canParse(text)) throw wrong('is not a url')
  const url = new URL(text)
  const decoded = (part: string, name: string): string => {
    try {
      return decodeURIComponent(part)
    } catch {
      throw wrong(
        `has a % in its ${name} that begins no code (write % as %25, or give it as a setting of its own, TIDEMARK_MYSQL_PASSWORD)`,
      )
    }
  }
  const database = decoded(url.pathname.slice(1), 'database')
  if (url.protocol !== 'mysql:' && url.protocol !== 'mariadb:') throw wrong(`begins with ${url.protocol}`)
  const host = hostOf(url)
  if (host === '') throw wrong('names no host')
  if (database === '' || database.includes('/')) throw wrong('names no database')
  if (url.search !== '' || url.hash !== '') throw wrong('has parameters, which are settings of their own here')
  // The driver would compare an address with nothing, and take a certificate of "localhost" for it.
  if (tls !== false && isIP(host) !== 0) throw wrong(`names the address ${host}, and tls needs the name that the certificate has`)
  return {
    host,
    port: url.port === '' ? 3306 : Number(url.port),
    database,
    user: user ?? decoded(url.username, 'user'),
    password: password ?? decoded(url.password, 'password'),
  }
}

/** Keys hold their hash tag between braces. */
export function checkPrefix(prefix: string, setting: string): void {
  if (/[{}]/.test(prefix))
    throw new TidemarkError('CONFIG_INVALID', `${setting}.prefix "${prefix}" has a brace, which marks the hash tag: leave it out`)
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}
