/** The code of another commit, in a folder of its own, as a release that was installed before. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'

const CHECKOUT = join(import.meta.dirname, '..', '..')

/** Throws if the repository lacks the commit, as a shallow clone does. Packages are shared if both need the same ones. */
export function checkOut(commit: string, folder: string): string {
  mkdirSync(folder, { recursive: true })
  let archive: Buffer
  try {
    archive = execFileSync('git', ['archive', commit], { cwd: CHECKOUT, maxBuffer: 2 ** 30, stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (error) {
    throw new Error(`this repository lacks the commit ${commit}: fetch its whole history, or name a checkout with --against`, {
      cause: error,
    })
  }
  execFileSync('tar', ['--extract', '--directory', folder], { input: archive })
  if (isDeepStrictEqual(packagesOf(folder), packagesOf(CHECKOUT))) symlinkSync(join(CHECKOUT, 'node_modules'), join(folder, 'node_modules'))
  else execFileSync('npm', ['ci', '--omit=dev', '--prefer-offline'], { cwd: folder, stdio: 'ignore' })
  return folder
}

function packagesOf(folder: string): unknown {
  const { dependencies, overrides } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>
  return { dependencies, overrides }
}
