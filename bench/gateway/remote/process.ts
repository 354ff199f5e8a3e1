/** A gateway or subgraph in its own process: started, measured through /proc, and stopped. Linux only. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'

export type Measured = {
  readonly url: string
  /** Milliseconds of CPU so far, all threads, user and system. */
  cpuMs(): number
  /** Peak memory, in MB. */
  peakMb(): number
  stop(): Promise<void>
}

/** Linux counts CPU time in hundredths of a second on every machine. */
const TICK_MS = 10
const START_MAX_MS = 30_000

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

export type Command = {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Resolves when the port accepts connections and answers HTTP with any status. */
export async function startProcess(command: Command, port: number): Promise<Measured> {
  const { file, args, cwd, env = {} } = command
  const child = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_ENV: 'production', ...env },
    ...(cwd === undefined ? {} : { cwd }),
  })
  let output = ''
  const keep = (text: Buffer) => void (output = (output + text.toString()).slice(-2_000))
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const url = `http://127.0.0.1:${port}/graphql`
  const until = performance.now() + START_MAX_MS
  for (;;) {
    if (child.exitCode !== null || child.pid === undefined) throw new Error(`${file} ${args.join(' ')} ended: ${output}`)
    if (await answers(url)) break
    if (performance.now() > until) {
      child.kill('SIGKILL')
      throw new Error(`${file} ${args.join(' ')} does not listen on ${port}: ${output}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const { pid } = child
  return {
    url,
    cpuMs: () => cpuMsOf(pid),
    peakMb: () => Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) / 1_024,
    async stop() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).arrayBuffer()
    return true
  } catch {
    return false
  }
}

/** All threads, user and system, so far. */
export function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  // The name of the program may contain spaces; the fields follow its bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}
