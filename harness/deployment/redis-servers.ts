/** Own Redis servers of a test: on free ports, in a temporary folder, killed and removed at the end. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ensurePrograms, findProgram } from '../../scripts/servers/packages.ts'
import { hasEnded, lastOutput, runningPid } from '../../scripts/servers/processes.ts'
import { makeRedis, makeRedisCluster } from '../../scripts/servers/redis.ts'
import type { Server } from '../../scripts/servers/server.ts'
import { freePorts } from './ports.ts'

export type TestServers = {
  urls: string[]
  ports: number[]
  /** Restarts killed servers with their data, and waits until all answer. */
  start(): Promise<void>
  /** Sends a signal to the node of this port. */
  signal(port: number, name: NodeJS.Signals): void
  /** kill -9, and waits until it is gone. */
  kill(port: number): Promise<void>
  stop(): Promise<void>
}

/** False if there is no redis-server and CI does not require one. */
export async function redisIsHere(): Promise<boolean> {
  if (findProgram('redis-server') !== undefined) return true
  if (process.env['CI'] === 'true') await ensurePrograms('redis', ['redis-server', 'redis-cli'], ['redis-server', 'redis-tools'])
  return findProgram('redis-server') !== undefined
}

export async function startRedis(settings: readonly string[] = []): Promise<TestServers> {
  const [port] = (await freePorts(1)) as [number]
  return run((folder) => makeRedis(folder, port, settings), [port])
}

/** Three masters with one replica each. */
export async function startCluster(settings: readonly string[] = []): Promise<TestServers> {
  const nodes = 6
  const ports = await freePorts(nodes * 2)
  const places = ports.slice(0, nodes).map((port, index) => ({ port, busPort: ports[nodes + index] as number }))
  return run((folder) => makeRedisCluster(folder, places, settings), ports.slice(0, nodes))
}

async function run(make: (folder: string) => Server, ports: number[]): Promise<TestServers> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-redis-'))
  const server = make(folder)
  const start = async (): Promise<void> => {
    await server.start()
    for (const deadline = Date.now() + 20_000; !(await server.answers()); await sleep(50)) {
      if (Date.now() < deadline) continue
      const words = server.listeners.map((listener) => lastOutput(listener.folder, 3))
      throw new Error(`${server.name} at ${server.address} does not answer; last words: ${words.join('\n')}`)
    }
  }
  const folderOf = (port: number): string => server.listeners.find((listener) => listener.port === port)?.folder ?? ''
  const signal = (port: number, name: NodeJS.Signals): void => {
    const pid = runningPid(folderOf(port))
    if (pid === undefined) throw new Error(`no server of this test listens on ${port}`)
    process.kill(pid, name)
  }
  const stop = async (): Promise<void> => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  await start().catch(async (error: unknown) => {
    await stop()
    throw error
  })
  return {
    urls: server.address.split(','),
    ports,
    start,
    signal,
    async kill(port) {
      signal(port, 'SIGKILL')
      while (!hasEnded(folderOf(port), port)) await sleep(5)
    },
    stop,
  }
}
