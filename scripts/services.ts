/**
 * Starts, stops and shows the servers of the distributed shape from this folder: `scripts/services up|down|status`.
 *
 * All data is in `.services/`, which git ignores. If the folder is removed while the servers are down, they start empty.
 * A second `up` leaves running servers alone and starts killed ones on their data. Servers of other folders and of the
 * machine are never touched: if one of them holds a port, the command fails with a sentence that names it.
 *
 * `up` starts durable servers, as `tidemark doctor` asks for. With `up --for-tests`, the kernel decides when Redis'
 * bytes reach the disk. Tests kill processes, not machines, and would wait twenty times as long for a disk.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isTaken } from './servers/ask.ts'
import { makeKafka } from './servers/kafka.ts'
import { withLock } from './servers/lock.ts'
import { makeMariadb, mariadbSocket } from './servers/mariadb.ts'
import { makeMemcached } from './servers/memcached.ts'
import { SERVER_NAMES, portBase, portsFrom, type ServerName } from './servers/ports.ts'
import { lastOutput, listenerOf, runningPid } from './servers/processes.ts'
import { makeRedis, makeRedisCluster } from './servers/redis.ts'
import type { Server } from './servers/server.ts'

const USAGE = 'usage: scripts/services up|down|status [--for-tests] [redis] [cluster] [kafka] [mariadb] [memcached]'
const READY_MS = 60_000
const HOME = join(import.meta.dirname, '..', '.services')
/** The base of the ports of the last `up`. */
const PORTS = join(HOME, 'ports')

const FOR_TESTS = '--for-tests'
const DURABLE = ['appendfsync always']

function makeServers(names: readonly ServerName[], redisSettings: readonly string[] = []): Server[] {
  const ports = portsFrom(portBase(process.env))
  const make: Record<ServerName, () => Server> = {
    redis: () => makeRedis(join(HOME, 'redis'), ports.redis, redisSettings),
    cluster: () => makeRedisCluster(join(HOME, 'cluster'), ports.cluster, redisSettings),
    kafka: () => makeKafka(join(HOME, 'kafka'), ports.kafka),
    mariadb: () => makeMariadb(join(HOME, 'mariadb'), ports.mariadb),
    memcached: () => makeMemcached(join(HOME, 'memcached'), ports.memcached),
  }
  return names.map((name) => make[name]())
}

/** Starts one server. Resolves with the line to print, rejects with a sentence. */
async function up(server: Server): Promise<string> {
  const started = Date.now()
  if (runsWhole(server) && (await server.answers())) return 'already up'
  for (const { port, folder } of server.listeners) {
    if (runningPid(folder) === undefined && (await isTaken(port))) throw new Error(portHeld(server, port))
  }
  await server.install()
  await server.start()
  while (!(await server.answers())) {
    const dead = server.listeners.find(({ folder }) => runningPid(folder) === undefined)
    if (dead !== undefined)
      throw new Error(
        `${server.name} ended at once; its last output, from ${join(dead.folder, 'output.log')}:\n${lastOutput(dead.folder, 8)}`,
      )
    if (Date.now() - started > READY_MS)
      throw new Error(`${server.name} does not answer after ${READY_MS / 1000} s: see ${join(HOME, server.name)}`)
    await sleep(100)
  }
  return `up after ${((Date.now() - started) / 1000).toFixed(1)} s`
}

function runsWhole(server: Server): boolean {
  return server.listeners.every(({ folder }) => runningPid(folder) !== undefined)
}

function portHeld(server: Server, port: number): string {
  const other = listenerOf(port)
  const clone = /(\/\S*)\/\.services\//.exec(other?.command ?? '')?.[1]
  const who = other === undefined ? 'another process' : `process ${other.pid} (${other.command.slice(0, 160)})`
  const advice = clone === undefined ? 'stop that process' : `that is the server of the clone in ${clone}; run scripts/services down there`
  return `${server.name} needs port ${port}, which ${who} holds: ${advice}, or set TIDEMARK_SERVICES_PORTS=18000 to use other ports here`
}

async function status(server: Server): Promise<{ line: string; isUp: boolean }> {
  if (runsWhole(server)) {
    const isUp = await server.answers()
    return { line: isUp ? 'up' : 'running, but does not answer', isUp }
  }
  const held = server.listeners.find(({ folder }) => runningPid(folder) === undefined)
  const foreign = held !== undefined && (await isTaken(held.port)) ? ` (port ${held.port} is held by another process)` : ''
  return { line: `down${foreign}`, isUp: false }
}

function print(server: Server, line: string): void {
  const socket = server.name === 'mariadb' ? `  (root: ${mariadbSocket(join(HOME, 'mariadb'))})` : ''
  process.stdout.write(`${server.name.padEnd(8)} ${line.padEnd(16)} ${server.address}${socket}\n`)
}

async function runCommand(command: string, servers: readonly Server[]): Promise<boolean> {
  const results = await Promise.all(
    servers.map(async (server) => {
      try {
        if (command === 'up') print(server, await up(server))
        else if (command === 'down') await server.stop().then(() => print(server, 'down'))
        else {
          const { line, isUp } = await status(server)
          print(server, line)
          return isUp
        }
        return true
      } catch (error) {
        process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
        return false
      }
    }),
  )
  return results.every(Boolean)
}

/** A sentence if servers of this folder run on other ports: to a command with the new ports they would look dead. */
function otherPorts(): string | undefined {
  const base = portBase(process.env)
  const started = existsSync(PORTS) ? Number(readFileSync(PORTS, 'utf8')) : base
  if (started === base || !makeServers(SERVER_NAMES).some(runsInPart)) return undefined
  return `TIDEMARK_SERVICES_PORTS differs: the servers of this folder were started with ${started}, and it is ${base} now; set it to ${started}, or run scripts/services down first`
}

/** A reader without the lock (`status`) sees the whole old text or the whole new text. */
function writeWhole(path: string, text: string): void {
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}

function runsInPart(server: Server): boolean {
  return server.listeners.some(({ folder }) => runningPid(folder) !== undefined)
}

async function main(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args
  const names = rest.filter((name) => name !== FOR_TESTS)
  const unknown = names.filter((name) => !SERVER_NAMES.some((known) => known === name))
  if (command === undefined || !['up', 'down', 'status'].includes(command) || unknown.length > 0) {
    process.stderr.write(`${unknown.length > 0 ? `unknown server ${unknown.join(', ')}; ` : ''}${USAGE}\n`)
    return 2
  }
  const servers = makeServers(
    names.length === 0 ? SERVER_NAMES : SERVER_NAMES.filter((name) => names.includes(name)),
    rest.includes(FOR_TESTS) ? [] : DURABLE,
  )
  mkdirSync(HOME, { recursive: true })
  // Under the lock: otherwise a command could read the base while another one writes it.
  const work = async () => {
    const sentence = otherPorts()
    if (sentence !== undefined) process.stderr.write(`${sentence}\n`)
    if (sentence !== undefined && command === 'up') return false
    if (command === 'up') writeWhole(PORTS, String(portBase(process.env)))
    return runCommand(command, servers)
  }
  return (await (command === 'status' ? work() : withLock(join(HOME, 'lock.sqlite'), work))) ? 0 : 1
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
