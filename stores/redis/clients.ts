/**
 * Configuration → ioredis clients: addresses, credentials, TLS, and the timeouts that make silence an error.
 */
import { Cluster } from 'ioredis'
import type { ClusterOptions, Redis } from 'ioredis'
import type { ConnectionOptions } from 'node:tls'
import { redisAddresses, type RedisAddress } from '../../config/store-addresses.ts'
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
  const { first, all, isCluster } = addressesOf(options)
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
  if (isCluster) return makeCluster(all, shared)
  const single = {
    ...shared,
    enableOfflineQueue: false,
    host: first.host,
    port: first.port,
    db: first.database,
    retryStrategy: (attempt: number) => Math.min(attempt * 25, RECONNECT_MAX_MS),
    // A master that became a replica behind a name or proxy: the name leads elsewhere now.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }
  return new SingleServer(single)
}

function addressesOf(options: RedisConnectionOptions) {
  return redisAddresses(options, options.setting ?? 'stores.redis')
}

/** The number of the database in which the keys are. */
export function databaseOf(options: RedisConnectionOptions): number {
  return addressesOf(options).first.database
}

type Credentials = { username: string | undefined; password: string | undefined }

function credentialsOf(options: RedisConnectionOptions, first: RedisAddress): Credentials {
  return { username: options.username ?? first.username, password: options.password ?? first.password }
}

/** Whom a server takes us for, for sentences. */
export function accountOf(options: RedisConnectionOptions): Account {
  const { username, password } = credentialsOf(options, addressesOf(options).first)
  return { username: username ?? 'default', hasPassword: password !== undefined, setting: options.setting ?? 'stores.redis' }
}

/** What a single server's connection and each node's of a Cluster have in common. */
type Shared = Omit<NonNullable<ClusterOptions['redisOptions']>, 'replyMapping'>

function makeCluster(places: readonly RedisAddress[], shared: Shared): Cluster {
  return new Cluster(
    places.map(({ host, port }) => ({ host, port })),
    {
      redisOptions: shared,
      enableOfflineQueue: false,
      clusterRetryStrategy: (attempt) => Math.min(attempt * 25, RECONNECT_MAX_MS),
      // A command that was cut off may have been executed: `connection.ts` sends it again, and notes that.
      retryDelayOnFailover: 0,
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
