/** Configuration → ioredis clients: addresses, credentials, TLS, and the timeouts that turn silence into an error. */
import { Cluster } from 'ioredis'
import type { ClusterOptions, Redis } from 'ioredis'
import type { ConnectionOptions } from 'node:tls'
import { redisAddresses, type RedisAddress } from '../../config/store-addresses.ts'
import { SteadyConnector } from './connector.ts'
import type { Account } from './failures.ts'
import { quickenReplies } from './wire/quick-replies.ts'
import { quickenStrings } from './quick-strings.ts'
import { SingleServer } from './single-server.ts'

quickenReplies()
quickenStrings()

export type RedisConnectionOptions = {
  /** `redis://[user:password@]host:port[/db]`, or `rediss://` for TLS. For a Cluster: some of its nodes, the more the better. */
  urls: readonly string[]
  /** True for a Redis Cluster. Default: true if more than one address is given. */
  cluster?: boolean
  /** These override the values of the first URL. */
  username?: string
  password?: string
  /** Certificates, in PEM. If given, TLS is also on for redis://. */
  tls?: { ca?: string; cert?: string; key?: string; serverName?: string; insecure?: boolean }
  /** Milliseconds a connection may take to come up. Minimum 1. Default 2000. */
  connectTimeoutMs?: number
  /** Milliseconds until a command without an answer counts as failed. Minimum 1. Default 2000. */
  commandTimeoutMs?: number
  /**
   * Milliseconds for which a call is retried. Minimum 0. Default 5000. To outlast a failover, it needs a cluster-node-timeout below about 3
   * s.
   */
  retryMaxMs?: number
  /** The name of the configuration section, for messages. Default "stores.redis". */
  setting?: string
}

export type RedisClient = Redis | Cluster

const RECONNECT_MAX_MS = 500

export function makeClient(options: RedisConnectionOptions): RedisClient {
  const { first, all, isCluster } = addressesOf(options)
  const commandTimeoutMs = options.commandTimeoutMs ?? 2_000
  const tls = options.tls !== undefined || first.tls ? tlsOptions(options.tls ?? {}) : undefined
  const { username, password } = credentialsOf(options, first)
  const shared: Shared = {
    Connector: SteadyConnector,
    connectTimeout: options.connectTimeoutMs ?? 2_000,
    commandTimeout: commandTimeoutMs,
    // A connection that is cut without notice shows only by silence. It is then replaced.
    socketTimeout: commandTimeoutMs + 1_000,
    keepAlive: 5_000,
    maxRetriesPerRequest: 0,
    // The check would wait in whole seconds for a server that loads or has just been promoted. Commands that get LOADING are retried
    // instead.
    enableReadyCheck: false,
    connectionName: 'tidemark',
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined ? {} : { tls }),
  }
  if (isCluster) return makeCluster(all, shared)
  const single = {
    ...shared,
    enableOfflineQueue: false,
    host: first.host,
    port: first.port,
    db: first.database,
    retryStrategy: (attempt: number) => Math.min(attempt * 25, RECONNECT_MAX_MS),
    // A master that became a replica behind a name or proxy: the name has moved to another server.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }
  return new SingleServer(single)
}

function addressesOf(options: RedisConnectionOptions) {
  return redisAddresses(options, options.setting ?? 'stores.redis')
}

/** The number of the database of the keys. */
export function databaseOf(options: RedisConnectionOptions): number {
  return addressesOf(options).first.database
}

type Credentials = { username: string | undefined; password: string | undefined }

function credentialsOf(options: RedisConnectionOptions, first: RedisAddress): Credentials {
  return { username: options.username ?? first.username, password: options.password ?? first.password }
}

/** The account on the server, for messages. */
export function accountOf(options: RedisConnectionOptions): Account {
  const { username, password } = credentialsOf(options, addressesOf(options).first)
  return { username: username ?? 'default', hasPassword: password !== undefined, setting: options.setting ?? 'stores.redis' }
}

/** Options shared by the connection to a single server and by each node of a Cluster. */
type Shared = Omit<NonNullable<ClusterOptions['redisOptions']>, 'replyMapping'>

function makeCluster(places: readonly RedisAddress[], shared: Shared): Cluster {
  return new Cluster(
    places.map(({ host, port }) => ({ host, port })),
    {
      redisOptions: shared,
      enableOfflineQueue: false,
      clusterRetryStrategy: (attempt) => Math.min(attempt * 25, RECONNECT_MAX_MS),
      // An interrupted command may have been executed: `connection.ts` sends it again, and notes that.
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 50,
      retryDelayOnTryAgain: 20,
      // With TLS, the certificate is verified against the name, so the name must not become an address.
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
