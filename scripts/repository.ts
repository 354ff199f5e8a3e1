/** The files of the repository in the current folder: those that git tracks, and new ones that it does not ignore. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

export type Repository = {
  /** Paths from the root, with `/`. */
  files: ReadonlySet<string>
  read(path: string): string
}

export function openRepository(): Repository {
  const listed = output('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']).split('\0')
  return {
    files: new Set(listed.filter((path) => path !== '' && existsSync(path)).toSorted()),
    read: (path) => readFileSync(path, 'utf8'),
  }
}

/** The standard output of a command. Its standard error is dropped. */
export function output(command: string, args: readonly string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 26, stdio: ['ignore', 'pipe', 'ignore'] })
}

/** Prints each finding and sets the exit status to 1 if there is one. */
export function report(findings: Iterable<string>): void {
  for (const finding of findings) {
    console.error(finding)
    process.exitCode = 1
  }
}
