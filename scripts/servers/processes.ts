/**
 * Processes that outlive the command that started them. Each has a folder with its pid file and its output. The system
 * reuses process ids, so that a pid file alone proves nothing. A process is ours only if its command line names the folder,
 * or if the folder is its working directory, which stays true after a clone is renamed.
 */
import { spawn, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, readdirSync, readlinkSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export type Launch = {
  program: string
  args: readonly string[]
  /** The working directory. It also holds the pid file and the output (`output.log`). */
  folder: string
  /** Default: the environment of this process. */
  env?: NodeJS.ProcessEnv
}

/** Starts the program and does not wait for it. Does nothing if the process of this folder runs. */
export function launch({ program, args, folder, env }: Launch): void {
  if (runningPid(folder) !== undefined) return
  mkdirSync(folder, { recursive: true })
  const output = openSync(join(folder, 'output.log'), 'w')
  try {
    const child = spawn(program, args, { cwd: folder, detached: true, stdio: ['ignore', output, output], env: env ?? process.env })
    child.on('error', () => undefined)
    child.unref()
    if (child.pid !== undefined) writeFileSync(pidFile(folder), String(child.pid))
  } finally {
    closeSync(output)
  }
}

/** The process of this folder, if it runs. */
export function runningPid(folder: string): number | undefined {
  let pid: number
  try {
    pid = Number(readFileSync(pidFile(folder), 'utf8'))
  } catch {
    return undefined
  }
  return Number.isInteger(pid) && pid > 1 && belongsTo(pid, folder) ? pid : undefined
}

/**
 * False while the process of this folder runs, and while its port is open. A process that ends loses its command line before it closes its
 * port. On other systems than Linux, the port is not checked.
 */
export function hasEnded(folder: string, port: number): boolean {
  return runningPid(folder) === undefined && listeningInodes(port).size === 0
}

/** Asks the process of this folder to end, and kills it after `graceMs`. Resolves when the process is gone. */
export async function stopProcess(folder: string, graceMs: number): Promise<void> {
  const pid = runningPid(folder)
  if (pid !== undefined) {
    process.kill(pid, 'SIGTERM')
    if (!(await isGone(folder, graceMs))) {
      process.kill(pid, 'SIGKILL')
      await isGone(folder, 5_000)
    }
  }
  rmSync(pidFile(folder), { force: true })
}

async function isGone(folder: string, waitMs: number): Promise<boolean> {
  for (const end = Date.now() + waitMs; Date.now() < end; await sleep(50)) {
    if (runningPid(folder) === undefined) return true
  }
  return runningPid(folder) === undefined
}

/** The last lines that the process of this folder printed. */
export function lastOutput(folder: string, lines: number): string {
  try {
    return readFileSync(join(folder, 'output.log'), 'utf8').trimEnd().split('\n').slice(-lines).join('\n')
  } catch {
    return ''
  }
}

function pidFile(folder: string): string {
  return join(folder, 'pid')
}

function belongsTo(pid: number, folder: string): boolean {
  const command = commandOf(pid)
  if (command === undefined) return false
  const real = realpathSync(folder)
  return command.includes(folder) || command.includes(real) || workingDirectoryOf(pid)?.startsWith(real) === true
}

function workingDirectoryOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return undefined
  }
}

/** The command line, with spaces between words. It is empty for a zombie process, and for a moment while a program starts. */
function commandOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  } catch {
    if (process.platform === 'linux') return undefined
    const shown = spawnSync('ps', ['-ww', '-o', 'args=', '-p', String(pid)], { encoding: 'utf8' })
    return shown.status === 0 ? shown.stdout.trim() : undefined
  }
}

/** The process that listens on this port, if this user may see it. Linux only: other systems give undefined. */
export function listenerOf(port: number): { pid: number; command: string } | undefined {
  const inodes = listeningInodes(port)
  if (inodes.size === 0) return undefined
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    if (openSockets(pid).some((inode) => inodes.has(inode))) return { pid: Number(pid), command: commandOf(Number(pid)) ?? '' }
  }
  return undefined
}

const LISTENING = '0A'

/** proc(5), /proc/net/tcp: the second column is address:port in hex, the fourth the state, the tenth the inode. */
function listeningInodes(port: number): Set<string> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const inodes = new Set<string>()
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    let table = ''
    try {
      table = readFileSync(file, 'utf8')
    } catch {
      continue
    }
    for (const line of table.split('\n').slice(1)) {
      const columns = line.trim().split(/\s+/)
      if (columns[1]?.endsWith(suffix) === true && columns[3] === LISTENING && columns[9] !== undefined) inodes.add(columns[9])
    }
  }
  return inodes
}

function openSockets(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1]
        return inode === undefined ? [] : [inode]
      } catch {
        return []
      }
    })
  } catch {
    return []
  }
}
