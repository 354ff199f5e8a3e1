/** Runs a `tidemark` command like a user: in its own process and its own folder. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'

const COMMAND = join(import.meta.dirname, '..', '..', 'cli', 'tidemark.ts')

export type Ended = { status: number; out: string; error: string }

export type CommandOptions = {
  /** Default: the sources of this repository. */
  command?: string
  environment?: Record<string, string>
  /** Written to standard input. */
  input?: string
  /** Milliseconds after which it is killed, and the status is -1. Default 60000. */
  maxMs?: number
}

export function runCommand(cwd: string, args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  const { command = COMMAND, environment = {}, input, maxMs = 60_000 } = options
  return new Promise((resolve) => {
    const env = { ...process.env, ...environment }
    const child = execFile(process.execPath, [command, ...args], { cwd, env, timeout: maxMs, maxBuffer: 2 ** 28 }, (failure, out, error) =>
      resolve({ status: failure === null ? 0 : typeof failure.code === 'number' ? failure.code : -1, out, error }),
    )
    child.stdin?.end(input)
  })
}
