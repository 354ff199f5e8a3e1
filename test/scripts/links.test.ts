/** `npm run check:links` in a repository of its own, run as CI runs it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const SCRIPT = join(import.meta.dirname, '..', '..', 'scripts', 'links.ts')
const PACKAGE = JSON.stringify({ name: 'planted', version: '1.0.0', files: ['README.md', 'docs/guide.md'] })

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-links-'))
  execFileSync('git', ['init', '--quiet'], { cwd: folder })
  write('package.json', PACKAGE)
  write('docs/guide.md', '# Guide\n\n## Who asks, and `how`\n\n## Limits\n\n## Limits\n')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

function check(): { status: number | null; said: string[] } {
  const { status, stderr } = spawnSync(process.execPath, [SCRIPT], { cwd: folder, encoding: 'utf8' })
  return { status, said: stderr.split('\n').filter((line) => line !== '') }
}

test('links to files, folders and headings that are there pass, and so do examples in code', () => {
  write(
    'README.md',
    [
      '# Planted',
      '[guide](docs/guide.md#who-asks-and-how), [second](docs/guide.md#limits-1), [folder](docs/), [here](#planted), [far](https://example.com/none)',
      'in code `[x](none.md)` and',
      '```',
      '[x](none.md)',
      '```',
    ].join('\n'),
  )
  expect(check()).toEqual({ status: 0, said: [] })
})

test('a planted link to a missing file or heading fails, with document and line', () => {
  write('README.md', '# Planted\n\n[file](none.md) [heading](docs/guide.md#none)\n\n[text]: ../outside.md\n')
  const { status, said } = check()
  expect(status).toBe(1)
  expect(said.filter((line) => !line.endsWith('in the npm package'))).toEqual([
    'README.md:3: the link to none.md is dead: none.md is not there',
    'README.md:3: the link to docs/guide.md#none is dead: docs/guide.md has no heading for #none',
    'README.md:5: the link to ../outside.md is dead: ../outside.md is not there',
  ])
})

test('a link from a packed document to a file that the package leaves out fails', () => {
  write('README.md', '[code](config/config.ts)\n')
  write('config/config.ts', '')
  expect(check()).toEqual({
    status: 1,
    said: ['README.md:1: the link to config/config.ts is dead: config/config.ts is not there in the npm package'],
  })
})
