/**
 * Configuration → ioredis clients: addresses, credentials, TLS, and the timeouts that make silence an error.
 */
import { Cluster } from 'ioredis'
import type { ClusterOptions, Redis } from 'ioredis'
import type { ConnectionOptions } from 'node:tls'
import { TidemarkError } from '../../core/errors.ts'
import { SteadyConnector } from './connector.ts'
import type { Account } from './failures.ts'
import { quickenStrings } from './quick-strings.ts'
import { SingleServer } from './single-server.ts'

quickenStrings()

export type RedisConnectionOptions = {
  /** `redis://[user:password@]host:port[/db]`, or `rediss://` for TLS. Of a Cluster: some of its nodes, the more the better. */
  urls: readonly string[]
  /** True for a Redis Cluster. Default: whether more than one address is given. */
  cluster?: boolean
  /** Override what the first URL says. */
  username?: string
  password?: string
  /** Certificates, in PEM. Given, it turns TLS on for redis:// too. */
  tls?: { ca?: string; cert?: string; key?: string; serverName?: string; insecure?: boolean }
  /** Milliseconds a connection may take to come up. Minimum 1. Default 2000. */
  connectTimeoutMs?: number
  /** Milliseconds until a command without an answer counts as failed. Minimum 1. Default 2000. */
  commandTimeoutMs?: number
  /** Milliseconds during which a call is tried again. Minimum 0. Default 5000, which outlasts a failover only if cluster-node-timeout is below about 3 s. */
  retryMaxMs?: number
  /** Where it is configured, for sentences. Default "stores.redis". */
  setting?: string
}

export type RedisClient = Redis | Cluster

const RECONNECT_MAX_MS = 500

export function makeClient(options: RedisConnectionOptions): RedisClient {
  const places = options.urls.map(placeOf)
  const [first] = places
  if (first === undefined)
    throw new TidemarkError('CONFIG_INVALID', 'stores.redis: no address is given; name at least one, such as redis://127.0.0.1:6379')
  const commandTimeoutMs = options.commandTimeoutMs ?? 2_000
  const tls = options.tls !== undefined || first.tls ? tlsOptions(options.tls ?? {}) : undefined
  const { username, password } = credentialsOf(options, first)
  const shared: Shared = {
    Connector: SteadyConnector,
    connectTimeout: options.connectTimeoutMs ?? 2_000,
    commandTimeout: commandTimeoutMs,
    // A connection that is cut without a word shows only by silence; then it is made anew.
    socketTimeout: commandTimeoutMs + 1_000,
    keepAlive: 5_000,
    maxRetriesPerRequest: 0,
    // The check would wait in whole seconds for a server that loads or has just been promoted; here LOADING is tried again.
    enableReadyCheck: false,
    connectionName: 'tidemark',
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined ? {} : { tls }),
  }
  if (isCluster(options)) {
    const other = places.find(({ db }) => db !== 0)
    if (other !== undefined) {
      const sentence = `a Cluster has database 0 only, and ${other.db} is named: leave it out, and give deployments that share it a prefix each`
      throw new TidemarkError('CONFIG_INVALID', `${options.setting ?? 'stores.redis'}: ${sentence}`)
    }
    return makeCluster(places, shared)
  }
  const single = {
    ...shared,
    enableOfflineQueue: false,
    host: first.host,
    port: first.port,
    db: first.db,
    retryStrategy: (attempt: number) => Math.min(attempt * 25, RECONNECT_MAX_MS),
    // A master that became a replica behind a name or proxy: the name leads elsewhere now.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }
  return new SingleServer(single)
}

function isCluster({ cluster, urls }: RedisConnectionOptions): boolean {
  return cluster ?? urls.length > 1
}

/** The number of the database in which the keys are. */
export function databaseOf(options: RedisConnectionOptions): number {
  return isCluster(options) ? 0 : options.urls.slice(0, 1).reduce((_, url) => placeOf(url).db, 0)
}

type Credentials = { username: string | undefined; password: string | undefined }

function credentialsOf(options: RedisConnectionOptions, first: Place): Credentials {
  return { username: options.username ?? first.username, password: options.password ?? first.password }
}

/** Whom a server takes us for, for sentences. */
export function accountOf(options: RedisConnectionOptions): Account {
  const [first] = options.urls.map(placeOf)
  const { username, password } = first === undefined ? { username: undefined, password: undefined } : credentialsOf(options, first)
  return { username: username ?? 'default', hasPassword: password !== undefined, setting: options.setting ?? 'stores.redis' }
}

/** What a single server's connection and each node's of a Cluster have in common. */
type Shared = Omit<NonNullable<ClusterOptions['redisOptions']>, 'replyMapping'>

function makeCluster(places: readonly Place[], shared: Shared): Cluster {
  return new Cluster(
    places.map(({ host, port }) => ({ host, port })),
    {
      redisOptions: shared,
      enableOfflineQueue: false,
      clusterRetryStrategy: (attempt) => Math.min(attempt * 25, RECONNECT_MAX_MS),
      retryDelayOnFailover: 50,
      retryDelayOnClusterDown: 50,
      retryDelayOnTryAgain: 20,
      // With TLS the name is what the certificate is checked against: it must not become an address.
      ...(shared.tls === undefined ? {} : { dnsLookup: (host, callback) => callback(null, host) }),
    },
  )
}

function tlsOptions({ ca, cert, key, serverName, insecure }: NonNullable<RedisConnectionOptions['tls']>): ConnectionOptions {
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(serverName === undefined ? {} : { servername: serverName }),
    ...(insecure === true ? { rejectUnauthorized: false } : {}),
  }
}

type Place = { host: string; port: number; db: number; tls: boolean; username: string | undefined; password: string | undefined }

function placeOf(text: string): Place {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'redis:' && url.protocol !== 'rediss:') || url.hostname === '') {
    throw new TidemarkError(
      'CONFIG_INVALID',
      `stores.redis: ${addressOf(text)} is not an address of a Redis server: write redis://host:port, or rediss:// for TLS`,
    )
  }
  const db = Number(url.pathname.slice(1) || '0')
  if (!Number.isInteger(db))
    throw new TidemarkError('CONFIG_INVALID', `stores.redis: "${url.pathname}" in ${addressOf(text)} is not a database number: use 0 to 15`)
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? 6379 : Number(url.port),
    db,
    tls: url.protocol === 'rediss:',
    username: decoded(url.username, text),
    password: decoded(url.password, text),
  }
}

function decoded(part: string, address: string): string | undefined {
  try {
    return part === '' ? undefined : decodeURIComponent(part)
  } catch {
    const sentence = `stores.redis: the credentials in the address of ${addressOf(address)} have a % that begins no code`
    throw new TidemarkError('CONFIG_INVALID', `${sentence}: write % as %25, or set TIDEMARK_REDIS_PASSWORD`)
  }
}

/** An address without its credentials, for messages. */
export function addressOf(text: string): string {
  return text.replace(/^\w+:\/\//, '').replace(/^.*@/, '')
}
