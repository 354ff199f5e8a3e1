/** A small repository in a temporary folder, in which a test plants a mistake and then runs a script as CI does. */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')

export function plantedRepository() {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tidemark-planted-'))
    execFileSync('git', ['init', '--quiet'], { cwd: folder })
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const run = (program: string, args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: folder, encoding: 'utf8' })
    return { status, findings: linesOf(stderr), printed: linesOf(stdout) }
  }

  return {
    plant(path: string, text: string): void {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    },
    /** Runs `scripts/NAME.ts` in the repository. */
    script: (name: string, ...args: string[]) => run(process.execPath, [join(ROOT, 'scripts', `${name}.ts`), ...args]),
    /** Runs the linter with the rules of the project, without the rules that need types. */
    lint() {
      // A copy: patterns of the file are relative to its folder.
      copyFileSync(join(ROOT, '.oxlintrc.json'), join(folder, '.oxlintrc.json'))
      return run(join(ROOT, 'node_modules', '.bin', 'oxlint'), ['-f', 'unix', '.'])
    },
  }
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}
