import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..', '..')

/** Returns whether V8 has fast properties for String.prototype after these imports. */
function isQuickAfter(...modules: string[]): string {
  const imports = modules.map((module) => `await import(${JSON.stringify(module)});`).join(' ')
  const script = `${imports} console.log(new Function('return %HasFastProperties(String.prototype)')()); process.exit(0)`
  const { stdout, stderr } = spawnSync(process.execPath, ['--allow-natives-syntax', '--input-type=module', '--eval', script], {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: 60_000,
  })
  return stdout.trim() || stderr
}

describe('the methods of strings', () => {
  test('are inlined in every process, although ioredis slows them down', () => {
    expect(isQuickAfter('./cli/start.ts')).toBe('true')
    // If this fails, ioredis has fixed it, and quick-strings.ts may be removed.
    expect(isQuickAfter('ioredis')).toBe('false')
  })
})
