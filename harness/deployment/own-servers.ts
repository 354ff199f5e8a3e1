/**
 * Own Redis, Kafka and MariaDB servers, which a test may kill and cut off: on free ports, in a temporary folder, with the shipped
 * configuration (docker-compose.yml). They end with this process, except after `kill -9`.
 *
 * A second Redis and a second MariaDB can be started too: for counts, or for a tenant with its own stores.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'

import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeKafka } from '../../scripts/servers/kafka.ts'
import { makeMariadb } from '../../scripts/servers/mariadb.ts'
import { hasEnded, lastOutput, runningPid } from '../../scripts/servers/processes.ts'
import { makeRedis } from '../../scripts/servers/redis.ts'
import type { Server } from '../../scripts/servers/server.ts'
import { KAFKA_ARTIFACTS } from './services.ts'
import { freePorts } from './ports.ts'

export const OWN_SERVERS = ['redis', 'kafka', 'mariadb'] as const
export const MORE_SERVERS = ['redis2', 'mariadb2'] as const
const ALL_SERVERS = [...OWN_SERVERS, ...MORE_SERVERS]
export type OwnServerName = (typeof ALL_SERVERS)[number]

export type OwnServer = {
  name: OwnServerName
  port: number
  /** Starts it, on its data if it was killed, and waits until it answers. */
  start(): Promise<void>
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>
  isRunning(): boolean
  /** The server answers no request and ends no connection until it is thawed. */
  freeze(): void
  thaw(): void
}

export type OwnServers = Record<OwnServerName, OwnServer> & {
  /** A folder for other files, removed with the servers. */
  folder: string
  remove(): Promise<void>
}

export type OwnServersOptions = {
  /** The port that Kafka advertises, if it is behind a proxy. */
  kafkaAddress?: (port: number) => Promise<string>
  /** Options of mariadbd beside the usual ones. */
  mariadbOptions?: readonly string[] | undefined
}

const START_MAX_MS = 60_000
const SIGNALS = ['SIGINT', 'SIGTERM'] as const
const exitOnSignal = () => process.exit(1)

/** No server runs until it is started. */
export async function makeOwnServers(options: OwnServersOptions = {}): Promise<OwnServers> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-servers-'))
  const [redisPort, kafkaPort, controllerPort, mariadbPort, redis2Port, mariadb2Port] = (await freePorts(6)) as [
    ...[number, number, number],
    ...[number, number, number],
  ]
  const advertised = await options.kafkaAddress?.(kafkaPort)
  const folderOf = (name: OwnServerName) => join(folder, name)
  const redis = makeRedis(folderOf('redis'), redisPort, ['appendfsync always'])
  const kafkaSettings = advertised === undefined ? [] : [`advertised.listeners=CLIENT://${advertised}`]
  mkdirSync(KAFKA_ARTIFACTS, { recursive: true })
  const kafka = makeKafka(folderOf('kafka'), { port: kafkaPort, controllerPort }, KAFKA_ARTIFACTS, kafkaSettings)
  const mariadb = makeMariadb(folderOf('mariadb'), mariadbPort, options.mariadbOptions)
  const redis2 = makeRedis(folderOf('redis2'), redis2Port, ['appendfsync always'])
  const mariadb2 = makeMariadb(folderOf('mariadb2'), mariadb2Port)
  let isRemoved = false
  const mayStart = () => {
    if (isRemoved) throw new Error('these servers were removed')
  }
  const own = {
    redis: ownServer('redis', redis, folderOf('redis'), redisPort, mayStart),
    kafka: ownServer('kafka', kafka, folderOf('kafka'), kafkaPort, mayStart),
    mariadb: ownServer('mariadb', mariadb, folderOf('mariadb'), mariadbPort, mayStart),
    redis2: ownServer('redis2', redis2, folderOf('redis2'), redis2Port, mayStart),
    mariadb2: ownServer('mariadb2', mariadb2, folderOf('mariadb2'), mariadb2Port, mayStart),
  }
  const killAll = () => {
    for (const name of ALL_SERVERS) {
      const pid = runningPid(folderOf(name))
      if (pid !== undefined) process.kill(pid, 'SIGKILL')
    }
  }
  process.once('exit', killAll)
  // Without a handler, a signal ends the process without the exit event.
  for (const signal of SIGNALS) process.once(signal, exitOnSignal)
  return {
    ...own,
    folder,
    async remove() {
      isRemoved = true
      await Promise.all(ALL_SERVERS.map((name) => own[name].kill()))
      process.off('exit', killAll)
      for (const signal of SIGNALS) process.off(signal, exitOnSignal)
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

/** Starts these servers concurrently. */
export async function startOwnServers(servers: OwnServers, names: readonly OwnServerName[]): Promise<void> {
  await Promise.all(names.map((name) => servers[name].start()))
}

function ownServer(name: OwnServerName, server: Server, folder: string, port: number, mayStart: () => void): OwnServer {
  function signal(kind: 'SIGSTOP' | 'SIGCONT'): void {
    const pid = runningPid(folder)
    if (pid !== undefined) process.kill(pid, kind)
  }

  return {
    name,
    port,
    async start() {
      await server.install()
      mayStart()
      await server.start()
      for (const end = Date.now() + START_MAX_MS; !(await server.answers()); await sleep(50)) {
        if (runningPid(folder) === undefined || Date.now() > end)
          throw new Error(`${name} on port ${port} does not answer; its last words:\n${lastOutput(folder, 20)}`)
      }
    },
    async kill() {
      const pid = runningPid(folder)
      if (pid === undefined) return
      process.kill(pid, 'SIGKILL')
      while (!hasEnded(folder, port)) await sleep(5)
    },
    isRunning: () => runningPid(folder) !== undefined,
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
  }
}
