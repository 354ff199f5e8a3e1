/**
 * Redis from Debian's packages: a single server, and a Cluster of three masters with a replica each.
 *
 * An acknowledged write survives `kill -9` of the process, because Redis writes the append-only file before it answers.
 * This holds for `appendfsync no` and `always`. With `everysec`, Redis delays the write for up to two seconds while an
 * fsync runs (`flushAppendOnlyFile` in Redis' aof.c). The default here is `no`, because servers for tests need not survive a
 * power cut. For other uses the caller passes `appendfsync always` in the settings: the last setting of a name wins.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask } from './ask.ts'
import { ensurePrograms, findProgram, run } from './packages.ts'
import { launch, stopProcess } from './processes.ts'
import type { Server } from './server.ts'

const STOP_MS = 5_000
/** Milliseconds without an answer until the cluster declares a node dead and promotes its replica. */
const NODE_TIMEOUT_MS = 2_000

const install = () => ensurePrograms('redis', ['redis-server', 'redis-cli'], ['redis-server', 'redis-tools'])

export function makeRedis(folder: string, port: number, settings: readonly string[] = []): Server {
  return {
    name: 'redis',
    address: `redis://127.0.0.1:${port}`,
    listeners: [{ port, folder }],
    install,
    start: async () => launchNode(folder, port, settings),
    answers: async () => (await command(port, 'PING')).startsWith('+PONG'),
    stop: () => stopProcess(folder, STOP_MS),
  }
}

export function makeRedisCluster(
  folder: string,
  nodes: readonly { port: number; busPort: number }[],
  settings: readonly string[] = [],
): Server {
  const places = nodes.map((node) => ({ ...node, folder: join(folder, `node-${node.port}`) }))
  const ports = places.map((place) => place.port)
  return {
    name: 'cluster',
    address: ports.map((port) => `redis://127.0.0.1:${port}`).join(','),
    listeners: places.flatMap((place) => [place, { port: place.busPort, folder: place.folder }]),
    install,
    async start() {
      for (const place of places) {
        const clustered = [
          'cluster-enabled yes',
          `cluster-port ${place.busPort}`,
          'cluster-config-file nodes.conf',
          `cluster-node-timeout ${NODE_TIMEOUT_MS}`,
        ]
        launchNode(place.folder, place.port, [...clustered, ...settings])
      }
      await all(ports, async (port) => (await command(port, 'PING')).startsWith('+PONG'))
      if (await anyKnows(ports, 1)) await joinNodes(ports)
    },
    answers: async () => (await Promise.all(ports.map((port) => isWhole(port, ports.length)))).every(Boolean),
    async stop() {
      await Promise.all(places.map((place) => stopProcess(place.folder, STOP_MS)))
    },
  }
}

function launchNode(folder: string, port: number, settings: readonly string[]): void {
  mkdirSync(folder, { recursive: true })
  const config = join(folder, 'redis.conf')
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `dir ${JSON.stringify(folder)}`,
    'daemonize no',
    'save ""',
    'appendonly yes',
    'appendfsync no',
    'maxmemory-policy noeviction',
    // The command line then names the file, which proves that the process is ours.
    'proc-title-template "{title} {listen-addr} {config-file} {server-mode}"',
    ...settings,
  ]
  writeFileSync(config, `${lines.join('\n')}\n`)
  launch({ program: findProgram('redis-server') as string, args: [config], folder })
}

async function command(port: number, line: string): Promise<string> {
  const answer = await ask(port, `${line}\r\n`, (bytes) => bytes.includes('\r\n'))
  return answer?.toString() ?? ''
}

async function clusterInfo(port: number): Promise<Map<string, string>> {
  const answer = await ask(port, 'CLUSTER INFO\r\n', (bytes) => bytes.toString().split('\r\n').length > 10)
  return new Map((answer?.toString() ?? '').split('\r\n').map((line) => line.split(':') as [string, string]))
}

async function isWhole(port: number, nodes: number): Promise<boolean> {
  const info = await clusterInfo(port)
  return info.get('cluster_state') === 'ok' && info.get('cluster_known_nodes') === String(nodes)
}

async function anyKnows(ports: readonly number[], nodes: number): Promise<boolean> {
  const infos = await Promise.all(ports.map(clusterInfo))
  return infos.some((info) => info.get('cluster_known_nodes') === String(nodes))
}

/** redis-cli gives the slots to the first half of the nodes. Each other node becomes the replica of one of them. */
async function joinNodes(ports: readonly number[]): Promise<void> {
  const nodes = ports.map((port) => `127.0.0.1:${port}`)
  const args = ['--cluster', 'create', ...nodes, '--cluster-replicas', '1', '--cluster-yes']
  await run(findProgram('redis-cli') as string, args, 'redis-cli could not join the nodes to a cluster')
}

/** Waits, at most 10 seconds, until each port passes. */
async function all(ports: readonly number[], passes: (port: number) => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 10_000; Date.now() < end;) {
    if ((await Promise.all(ports.map(passes))).every(Boolean)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
