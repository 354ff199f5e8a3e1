/**
 * Commands to one Redis or to a Cluster, with an end: each command is answered or refused within `retryMaxMs` plus one
 * `commandTimeoutMs`, whatever happens to servers and network.
 *
 * Commands of one call leave together, in one write per node, and are repeated one by one: ioredis follows MOVED and ASK,
 * and what else may pass (`failures.ts`) is tried again here, with a growing delay. A command may therefore be executed
 * twice; every script and command of this adapter may be. Nothing waits in a queue for a lost connection: what cannot be
 * sent now fails now, and is tried again here, so that no forgotten command is executed minutes later.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster, Redis } from 'ioredis'
import type { ClusterOptions } from 'ioredis'
import type { ConnectionOptions } from 'node:tls'
import { TidemarkError } from '../../core/errors.ts'
import { isMissingScript, isPassing, toTidemarkError } from './failures.ts'
import type { Script } from './scripts.ts'

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
  /** Milliseconds during which a call is tried again. Minimum 0. Default 5000: a failover of a Cluster with the usual settings of 5 s. */
  retryMaxMs?: number
}

export type Argument = string | Buffer | number
export type Command = { name: string; args: Argument[]; script?: Script }
export type RedisClient = Redis | Cluster
export type Connection = ReturnType<typeof connect>

const FIRST_DELAY_MS = 10
const DELAY_MAX_MS = 250
const RECONNECT_MAX_MS = 500
/** How often a Cluster is asked who holds what, without being told by a MOVED: what idle followers learn from. */
const TOPOLOGY_MS = 5_000

export function scriptCommand(script: Script, keys: readonly string[], args: readonly Argument[]): Command {
  return { name: 'evalsha', args: [script.hash, keys.length, ...keys, ...args], script }
}

export function connect(options: RedisConnectionOptions) {
  const retryMaxMs = options.retryMaxMs ?? 5_000
  const address = options.urls.map(hostOf).join(',')
  const { client, subscriber } = makeClients(options)
  let lastComplaint: string | undefined
  let subscribed: Redis | undefined
  let closed = false
  client.on('error', complain)
  client.on('node error', complain)
  client.on('ready', () => {
    lastComplaint = undefined
  })

  function complain(error: Error): void {
    lastComplaint = ('lastNodeError' in error && error.lastNodeError instanceof Error ? error.lastNodeError : error).message || lastComplaint
  }

  function raw(command: Command): Promise<unknown> {
    return client.callBuffer(command.name, command.args)
  }

  async function retry(command: Command, failure: unknown, deadline: number): Promise<unknown> {
    let error = failure
    let delayMs = FIRST_DELAY_MS
    let next = command
    for (;;) {
      if (isMissingScript(error) && next.script !== undefined) {
        next = { name: 'eval', args: [next.script.text, ...next.args.slice(1)] }
      } else {
        if (closed || !isPassing(error) || Date.now() + delayMs > deadline) throw toTidemarkError(error, address, lastComplaint)
        await sleep(delayMs * (0.5 + Math.random() / 2))
        delayMs = Math.min(delayMs * 2, DELAY_MAX_MS)
      }
      try {
        return await raw(next)
      } catch (again) {
        error = again
      }
    }
  }

  return {
    address,
    client,
    isCluster: client instanceof Cluster,

    /** Answers in the order of the commands; bulk strings as Buffers. Rejects once all have ended, with the first failure. */
    async send(commands: readonly Command[]): Promise<unknown[]> {
      if (closed) throw new TidemarkError('HOT_STORE_UNAVAILABLE', `the connection to Redis at ${address} is closed: open the store again`)
      const deadline = Date.now() + retryMaxMs
      const corked = commands.length > 1 ? cork(client) : []
      let failure: unknown
      const answers = commands.map((command) =>
        raw(command)
          .catch((error: unknown) => retry(command, error, deadline))
          .catch((error: unknown) => {
            failure ??= error
          }),
      )
      for (const stream of corked) stream.uncork()
      const settled = await Promise.all(answers)
      if (failure !== undefined) throw failure
      return settled
    },

    /** Runs `task` until it succeeds, within the same bounds; for what is not a plain command. */
    async insist<T>(task: () => Promise<T>): Promise<T> {
      const deadline = Date.now() + retryMaxMs
      for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(delayMs * 2, DELAY_MAX_MS)) {
        try {
          return await task()
        } catch (error) {
          if (closed || !isPassing(error) || Date.now() + delayMs > deadline) throw toTidemarkError(error, address, lastComplaint)
          await sleep(delayMs)
        }
      }
    },

    /** The nodes that hold keys. Waits until a Cluster has told which they are. */
    async masters(): Promise<Redis[]> {
      if (!(client instanceof Cluster)) return [client]
      await this.send([{ name: 'ping', args: [] }])
      return client.nodes('master')
    },

    /** What shard channels are followed with: the Cluster itself, or a second connection, made at the first call. */
    subscriber(): RedisClient {
      if (client instanceof Cluster) return client
      if (subscribed === undefined) {
        subscribed = subscriber()
        subscribed.on('error', complain)
      }
      return subscribed
    },

    close(): void {
      closed = true
      subscribed?.disconnect()
      client.disconnect()
    },
  }
}

function cork(client: RedisClient) {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client]
  const streams = nodes.flatMap((node) => (node.status === 'ready' ? [node.stream] : []))
  for (const stream of streams) stream.cork()
  return streams
}

function makeClients(options: RedisConnectionOptions): { client: RedisClient; subscriber: () => Redis } {
  const places = options.urls.map(placeOf)
  const [first] = places
  if (first === undefined) throw new TidemarkError('CONFIG_INVALID', 'stores.redis: no address is given; name at least one, such as redis://127.0.0.1:6379')
  const commandTimeoutMs = options.commandTimeoutMs ?? 2_000
  const tls = options.tls !== undefined || first.tls ? tlsOptions(options.tls ?? {}) : undefined
  const username = options.username ?? first.username
  const password = options.password ?? first.password
  const shared: Shared = {
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
  if (options.cluster ?? places.length > 1) return { client: makeCluster(places, shared), subscriber: unused }
  const single = {
    ...shared,
    host: first.host,
    port: first.port,
    db: first.db,
    retryStrategy: (attempt: number) => Math.min(attempt * 25, RECONNECT_MAX_MS),
    // A master that became a replica behind a name or proxy: the name leads elsewhere now.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }
  // A follower's connection may wait: its subscriptions are made again by ioredis, its commands are not retried here.
  return { client: new Redis({ ...single, enableOfflineQueue: false }), subscriber: () => new Redis({ ...single, connectionName: 'tidemark-follower' }) }
}

/** What a single server's connection and each node's of a Cluster have in common. */
type Shared = Omit<NonNullable<ClusterOptions['redisOptions']>, 'replyMapping' | 'Connector'>

function makeCluster(places: readonly Place[], shared: Shared): Cluster {
  return new Cluster(
    places.map(({ host, port }) => ({ host, port })),
    {
      redisOptions: shared,
      enableOfflineQueue: false,
      shardedSubscribers: true,
      clusterRetryStrategy: (attempt) => Math.min(attempt * 25, RECONNECT_MAX_MS),
      slotsRefreshInterval: TOPOLOGY_MS,
      retryDelayOnFailover: 50,
      retryDelayOnClusterDown: 50,
      retryDelayOnTryAgain: 20,
      // With TLS the name is what the certificate is checked against: it must not become an address.
      ...(shared.tls === undefined ? {} : { dnsLookup: (host, callback) => callback(null, host) }),
    },
  )
}

function unused(): Redis {
  throw new Error('a Cluster follows by its own subscribers')
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
    throw new TidemarkError('CONFIG_INVALID', `stores.redis: ${hostOf(text)} is not an address of a Redis server: write redis://host:port, or rediss:// for TLS`)
  }
  const db = Number(url.pathname.slice(1) || '0')
  if (!Number.isInteger(db)) throw new TidemarkError('CONFIG_INVALID', `stores.redis: "${url.pathname}" in ${hostOf(text)} is not a database number: use 0 to 15`)
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? 6379 : Number(url.port),
    db,
    tls: url.protocol === 'rediss:',
    username: url.username === '' ? undefined : decodeURIComponent(url.username),
    password: url.password === '' ? undefined : decodeURIComponent(url.password),
  }
}

/** An address without its credentials, for messages. */
function hostOf(text: string): string {
  return text.replace(/^\w+:\/\//, '').replace(/^.*@/, '')
}
