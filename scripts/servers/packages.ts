/**
 * The programs of the servers, and the Debian packages that contain them. Root gets missing packages through apt-get. Any
 * other user gets a sentence that names the missing programs.
 *
 * Debian starts a service when its package is installed. During an installation, policy-rc.d forbids that (Debian policy,
 * 9.3.3). A policy-rc.d that the machine already has stays.
 */
import { spawn, spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { withLock } from './lock.ts'

/** Folders of programs that are not on the path of every user. */
const MORE_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/opt/homebrew/bin', '/opt/homebrew/sbin']

export function findProgram(name: string): string | undefined {
  for (const folder of [...(process.env['PATH'] ?? '').split(delimiter), ...MORE_FOLDERS]) {
    const file = join(folder, name)
    if (folder !== '' && isExecutable(file)) return file
  }
  return undefined
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** In a folder of apt-get, where only root can write. */
const LOCK = '/var/lib/apt/tidemark.lock'
/** Seconds for which apt-get waits for the dpkg of another program. */
const DPKG_WAIT_S = 300

/** Installs `packages` if one of `programs` is missing. */
export async function ensurePrograms(server: string, programs: readonly string[], packages: readonly string[]): Promise<void> {
  const missing = () => programs.filter((program) => findProgram(program) === undefined)
  if (missing().length === 0) return
  checkInstallable(`${server} needs ${missing().join(' and ')}`, packages)
  // One installation runs at a time on a machine, because apt-get does not wait for the lock of its lists.
  await withLock(LOCK, async () => {
    if (missing().length > 0) await installPackages(`${server} needs ${missing().join(' and ')}`, packages)
  })
  if (missing().length > 0)
    throw new Error(
      `${server} needs ${missing().join(' and ')}, which the packages ${packages.join(' ')} did not bring: install them by hand`,
    )
}

function checkInstallable(wish: string, packages: readonly string[]): void {
  if (findProgram('apt-get') === undefined)
    throw new Error(`${wish}, and this system has no apt-get: install them with its own packages, then run this again`)
  if (process.getuid?.() !== 0)
    throw new Error(`${wish}, and only root may install them: run \`sudo apt-get install ${packages.join(' ')}\`, then this again`)
}

async function installPackages(wish: string, packages: readonly string[]): Promise<void> {
  process.stderr.write(`${wish}: installing ${packages.join(' ')} with apt-get\n`)
  const policy = '/usr/sbin/policy-rc.d'
  const ownPolicy = !existsSync(policy)
  if (ownPolicy) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    await run('apt-get', ['update', '-qq'], `${wish}, and apt-get update failed`)
    await run(
      'apt-get',
      ['install', '-y', '-qq', '--no-install-recommends', '-o', `DPkg::Lock::Timeout=${DPKG_WAIT_S}`, ...packages],
      `${wish}, and apt-get could not install ${packages.join(' ')}`,
    )
  } finally {
    if (ownPolicy) rmSync(policy, { force: true })
  }
}

/** Runs a program to its end. Rejects with `complaint` and the last lines of its output. */
export function run(program: string, args: readonly string[], complaint: string, folder?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env, ...(folder === undefined ? {} : { cwd: folder }) })
    let output = ''
    const keep = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-100_000)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.on('error', (error) => reject(new Error(`${complaint}: ${error.message}`)))
    child.on('close', (status) => {
      if (status === 0) resolve(output)
      else reject(new Error(`${complaint} (exit ${status}):\n${output.trimEnd().split('\n').slice(-12).join('\n')}`))
    })
  })
}

/** The major version of the Java on the path, or undefined. */
export function javaVersion(): number | undefined {
  const shown = spawnSync('java', ['-version'], { encoding: 'utf8' })
  const major = /version "(\d+)/.exec(shown.stderr ?? '')?.[1]
  return major === undefined ? undefined : Number(major)
}
