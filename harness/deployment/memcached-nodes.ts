/** Own Memcached nodes of a test or benchmark: on free ports, in a temporary folder, killed and removed at the end. */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from '../../scripts/servers/ask.ts'
import { makeMemcached } from '../../scripts/servers/memcached.ts'
import { findProgram } from '../../scripts/servers/packages.ts'
import { hasEnded, lastOutput, runningPid } from '../../scripts/servers/processes.ts'
import { freePorts } from './ports.ts'

export type MemcachedNode = {
  /** `host:port`. */
  address: string
  port: number
  pid(): number
  /** Starts it, empty. */
  start(): Promise<void>
  /** kill -9, and waits until it is gone. */
  kill(): Promise<void>
  /** It answers no request and ends no connection until it is thawed. Resolves when it has stopped (Linux). */
  freeze(): Promise<void>
  thaw(): void
  /** The keys that it has looked up since its start. */
  lookups(): Promise<{ hits: number; misses: number }>
}

export type MemcachedNodes = { nodes: MemcachedNode[]; stop(): Promise<void> }

/** False if there is no memcached and CI does not require one. */
export async function memcachedIsHere(): Promise<boolean> {
  if (findProgram('memcached') === undefined && process.env['CI'] === 'true') await makeMemcached('', 0).install()
  return findProgram('memcached') !== undefined
}

/** Starts a node for each element, with these settings, such as `--memory-limit=1`. Installs Memcached if this machine has none. */
export async function startMemcachedNodes(settings: readonly (readonly string[])[]): Promise<MemcachedNodes> {
  await makeMemcached('', 0).install()
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-memcached-'))
  const ports = await freePorts(settings.length)
  const nodes = settings.map((each, index) => makeNode(join(folder, String(index)), ports[index] as number, each))
  const killAll = (): void => {
    for (const node of nodes) void node.kill()
  }
  process.once('exit', killAll)
  await Promise.all(nodes.map((node) => node.start()))
  return {
    nodes,
    async stop() {
      await Promise.all(nodes.map((node) => node.kill()))
      process.off('exit', killAll)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function makeNode(folder: string, port: number, settings: readonly string[]): MemcachedNode {
  const server = makeMemcached(folder, port, settings)
  const pid = (): number => {
    const found = runningPid(folder)
    if (found === undefined) throw new Error(`the node on port ${port} does not run: ${lastOutput(folder, 3)}`)
    return found
  }
  return {
    address: server.address,
    port,
    pid,
    async start() {
      await server.start()
      for (const end = Date.now() + 20_000; !(await server.answers()); await sleep(20)) {
        if (runningPid(folder) === undefined || Date.now() > end)
          throw new Error(`the node on port ${port} does not answer: ${lastOutput(folder, 3)}`)
      }
    },
    async kill() {
      const found = runningPid(folder)
      if (found !== undefined) process.kill(found, 'SIGKILL')
      while (!hasEnded(folder, port)) await sleep(5)
    },
    async freeze() {
      const found = pid()
      process.kill(found, 'SIGSTOP')
      // A thread that runs on another processor stops a moment later.
      while (!isStopped(found)) await sleep(1)
    },
    thaw: () => void process.kill(pid(), 'SIGCONT'),
    async lookups() {
      const answer = (await ask(port, 'stats\r\n', (bytes) => bytes.toString('latin1').endsWith('END\r\n')))?.toString() ?? ''
      const of = (name: string): number => Number(new RegExp(`STAT ${name} (\\d+)`).exec(answer)?.[1])
      return { hits: of('get_hits'), misses: of('get_misses') }
    },
  }
}

/** proc(5): the state of each thread is the field after the name, which may contain spaces and ends with a parenthesis. */
function isStopped(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) =>
    / T /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8').replace(/^.*\)/, '')),
  )
}
