/**
 * The servers of `scripts/services` for tests: started if they are not up, and left up for the next run.
 *
 *   const kafka = await service('kafka')
 *   describe.skipIf(kafka === undefined)('the log on Kafka', () => { … })
 *
 * If a server is not available, its tests are skipped, and the end of the run reports the missing packages (`notTested`). With CI=true
 * nothing is skipped: the file fails instead.
 */
import { spawn } from 'node:child_process'
import { appendFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { mariadbSocket } from '../../scripts/servers/mariadb.ts'
import { addressesOf, portBase, portsFrom, type ServerName } from '../../scripts/servers/ports.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const HOME = join(ROOT, '.services')
const NOT_TESTED = join(HOME, 'not-tested.txt')

/** The folder of Kafka's artifacts, for tests with their own broker. */
export const KAFKA_ARTIFACTS = join(HOME, 'kafka')

/** The socket on which root connects to MariaDB without a password. */
export const MARIADB_SOCKET = mariadbSocket(join(HOME, 'mariadb'))

/**
 * The address of a running server, or undefined if it is not available. For the cluster: the addresses of its nodes, separated by commas.
 */
export async function service(name: ServerName): Promise<string | undefined> {
  const { status, complaint } = await runServices('up', '--for-tests', name)
  if (status === 0) return addressesOf(portsFrom(portBase(process.env)))[name]
  if (process.env['CI'] === 'true') throw new Error(`${name} is not up, and with CI=true nothing is skipped: ${complaint}`)
  mkdirSync(HOME, { recursive: true })
  appendFileSync(NOT_TESTED, `${name}: ${complaint.split('\n')[0]}\n`)
  return undefined
}

/** Skipped servers since `forgetNotTested`, as one sentence per server. */
export function notTested(): string[] {
  try {
    return [...new Set(readFileSync(NOT_TESTED, 'utf8').trim().split('\n'))]
  } catch {
    return []
  }
}

export function forgetNotTested(): void {
  rmSync(NOT_TESTED, { force: true })
}

function runServices(...args: readonly string[]): Promise<{ status: number | null; complaint: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(ROOT, 'scripts', 'services.ts'), ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let complaint = ''
    child.stderr.on('data', (chunk: Buffer) => {
      complaint += chunk.toString()
    })
    child.on('error', reject)
    child.on('close', (status) => resolve({ status, complaint: complaint.trim() }))
  })
}
