/** Runs the real `tidemark start` in its own process and folder, on a free port. It has the memory limits of `npm start`. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SHIPPED_ENVIRONMENT, SHIPPED_OPTIONS } from './role.ts'

const COMMAND = join(import.meta.dirname, '..', '..', 'cli', 'tidemark.ts')

export type ServiceOptions = {
  /** The folder of the data and of tidemark.yaml. */
  folder: string
  /** The content of tidemark.yaml. JSON is YAML. */
  settings?: Record<string, unknown>
  workers?: number
  /** Default: start. */
  command?: readonly string[]
  /** The file of the command. Default: the sources of this repository. */
  program?: string
  environment?: Record<string, string>
  /** Default: a free one. */
  port?: number
}

export type Service = {
  /** The address of the API. */
  url: string
  pid: number
  process: ChildProcess
  /** Its standard error so far. */
  log(): string
  /** Kills it like a power cut; resolves when it is gone. */
  kill(): Promise<void>
  /** Ends it as an operator would; resolves to its exit status. */
  stop(): Promise<number | null>
}

export function makeServiceFolder(): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Resolves when it answers; rejects with its last words if it ends before. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { folder, settings = {}, workers = 1, command = ['start'], program = COMMAND, environment = {}, port = 0 } = options
  const config = join(folder, 'tidemark.yaml')
  writeFileSync(config, JSON.stringify(settings))
  const flags = command[0] === 'start' ? ['--workers', String(workers)] : []
  const args = [
    ...SHIPPED_OPTIONS,
    program,
    ...command,
    '--port',
    String(port),
    '--data',
    join(folder, 'data'),
    '--config',
    config,
    ...flags,
  ]
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...SHIPPED_ENVIRONMENT, ...process.env, ...environment },
  })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const url = await announcedUrl(child, () => log)
  const exited = once(child, 'exit')
  return {
    url,
    pid: child.pid as number,
    process: child,
    log: () => log,
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    async stop() {
      child.kill('SIGTERM')
      const [status] = (await exited) as [number | null]
      return status
    },
  }
}

function announcedUrl(child: ChildProcess, log: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    let out = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      out += text
      const match = /is ready: (\S+)/.exec(out)
      if (match?.[1] !== undefined) resolve(match[1])
    })
    child.once('exit', (status) => reject(new Error(`the service ended with status ${status}: ${log()}${out}`)))
  })
}

/** One GraphQL request as a viewer; the parsed answer. */
export async function ask(
  url: string,
  viewer: string | undefined,
  query: string,
  variables: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<{ data?: any; errors?: { message: string; path?: (string | number)[]; extensions: { code: string } }[] }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(viewer === undefined ? {} : { 'x-viewer-id': viewer }), ...headers },
    body: JSON.stringify({ query, variables }),
  })
  return (await response.json()) as never
}
