/**
 * A role of Tidemark in its own process. Its address stays the same after a kill and a restart. Its output goes to `output.log` in its
 * folder. It ends with this process, except after `kill -9`.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseMetrics } from '../../conformance/api-client.ts'

const CHECKOUT = join(import.meta.dirname, '..', '..')

export type RoleOptions = {
  name: string
  /** The command, such as `gateway`. */
  command: readonly string[]
  port: number
  folder: string
  settings: Record<string, unknown>
  /** The folder of the code that runs. Default: this one. */
  checkout?: string
  /** Options of Node in addition to those of the scripts in package.json. */
  nodeOptions?: readonly string[]
}

/** As in package.json, the Dockerfile and the unit files. A variable of the caller overrides the environment. */
export const SHIPPED_OPTIONS = ['--max-semi-space-size=16']
export const SHIPPED_ENVIRONMENT = { MALLOC_ARENA_MAX: '2' }

export type Role = {
  name: string
  url: string
  metricsUrl: string
  pid(): number | undefined
  isRunning(): boolean
  /** The number of kills. It lets a client with a lost connection find out whether the kill was intended. */
  kills(): number
  /** Sentences about each unexpected end. */
  deaths(): readonly string[]
  /** Resolves when it is ready. If it ends before, rejects with its last output. `more`: further options of Node for this start. */
  start(more?: readonly string[]): Promise<void>
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>
  /** Ends it as an operator would; resolves to its exit status. */
  stop(): Promise<number | null>
}

const STOP_MAX_MS = 40_000
/** A role that is not ready after this time is killed. */
const START_MAX_MS = 60_000

export function makeRole({ name, command, port, folder, settings, checkout = CHECKOUT, nodeOptions = [] }: RoleOptions): Role {
  mkdirSync(folder, { recursive: true })
  const config = join(folder, 'tidemark.yaml')
  const output = join(folder, 'output.log')
  const origin = `http://127.0.0.1:${port}`
  const deaths: string[] = []
  let child: ChildProcess | undefined
  /** Not ready yet. */
  let starting: ChildProcess | undefined
  let kills = 0

  async function start(more: readonly string[] = []): Promise<void> {
    writeFileSync(config, JSON.stringify(settings))
    const args = [
      ...SHIPPED_OPTIONS,
      ...nodeOptions,
      ...more,
      join(checkout, 'cli', 'tidemark.ts'),
      ...command,
      '--port',
      String(port),
      '--config',
      config,
    ]
    const launched = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: folder,
      env: { ...SHIPPED_ENVIRONMENT, ...process.env },
    })
    launched.stderr.pipe(createWriteStream(output, { flags: 'a' }))
    const killAtExit = () => void launched.kill('SIGKILL')
    process.once('exit', killAtExit)
    launched.once('exit', () => process.off('exit', killAtExit))
    starting = launched
    await isReady(launched).finally(() => {
      starting = undefined
    })
    child = launched
    launched.once('exit', (status, signal) => {
      if (child !== launched) return
      child = undefined
      deaths.push(`${name} ended with ${signal ?? `status ${status}`}: ${lastWords()}`)
    })
  }

  function isReady(launched: ChildProcess): Promise<void> {
    return new Promise((resolve, reject) => {
      let said = ''
      const patience = setTimeout(() => launched.kill('SIGKILL'), START_MAX_MS)
      launched.once('exit', () => clearTimeout(patience))
      launched.stdout?.setEncoding('utf8').on('data', (text: string) => {
        said += text
        if (!said.includes('is ready: ')) return
        clearTimeout(patience)
        resolve()
      })
      launched.once('exit', (status, signal) =>
        reject(new Error(`${name} ended with ${signal ?? `status ${status}`} before it was ready: ${lastWords()}`)),
      )
    })
  }

  function lastWords(): string {
    try {
      return readFileSync(output, 'utf8').slice(-2_000)
    } catch {
      return ''
    }
  }

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    const ending = child ?? starting
    if (ending === undefined) return null
    child = undefined
    const gone = once(ending, 'exit') as Promise<[number | null]>
    ending.kill(signal)
    const patience = setTimeout(() => ending.kill('SIGKILL'), STOP_MAX_MS)
    const [status] = await gone
    clearTimeout(patience)
    return status
  }

  return {
    name,
    url: `${origin}/graphql`,
    metricsUrl: `${origin}/metrics`,
    pid: () => child?.pid,
    isRunning: () => child !== undefined,
    kills: () => kills,
    deaths: () => deaths,
    start,
    async kill() {
      kills++
      await end('SIGKILL')
    },
    stop: () => end('SIGTERM'),
  }
}

/** The numbers of `/metrics` by name, labels added up; undefined if it does not answer. */
export async function metricsOf(role: Role): Promise<Map<string, number> | undefined> {
  try {
    return parseMetrics(await (await fetch(role.metricsUrl, { signal: AbortSignal.timeout(10_000) })).text())
  } catch {
    return undefined
  }
}
