/** `tidemark export --rate` and `import --rate`, run as by an operator: a pause between rows does not end the process. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCommand, type Ended } from '../../../harness/deployment/command.ts'
import { makeTestFolder, storeAll, withStores, type TestFolder } from './stored.ts'

let here: TestFolder
beforeAll(async () => {
  here = makeTestFolder()
  await withStores(here.flags('source'), storeAll)
})
afterAll(() => here.remove())

function run(data: string, ...args: string[]): Promise<Ended> {
  const flags = here.flags(data)
  return runCommand(here.folder, [...args, '--data', flags.data, '--config', flags.config])
}

function rowsIn(out: string): string[] {
  const files = readdirSync(here.path(out)).filter((name) => name.endsWith('.jsonl'))
  return files
    .flatMap((name) =>
      readFileSync(join(here.path(out), name), 'utf8')
        .trim()
        .split('\n'),
    )
    .toSorted()
}

test('an export and an import with --rate take their time, and have the same rows as without', { timeout: 120_000 }, async () => {
  expect(await run('source', 'export', '--out', 'whole')).toMatchObject({ status: 0, error: '' })
  const rows = rowsIn('whole')
  const rate = ['--rate', '100']
  const leastMs = 0.9 * (rows.length / 100) * 1_000

  let begun = performance.now()
  expect(await run('source', 'export', '--out', 'paced', ...rate)).toMatchObject({ status: 0, error: '' })
  expect(performance.now() - begun).toBeGreaterThan(leastMs)
  expect(rowsIn('paced')).toEqual(rows)

  begun = performance.now()
  const imported = await run('target', 'import', 'paced', '--verify', ...rate)
  expect(imported).toMatchObject({ status: 0, error: '', out: expect.stringContaining(`${rows.length} rows imported`) })
  expect(imported.out).not.toMatch(/[1-9]\d* (missing|different)/)
  expect(performance.now() - begun).toBeGreaterThan(leastMs)

  expect(await run('target', 'export', '--out', 'again')).toMatchObject({ status: 0, error: '' })
  expect(rowsIn('again')).toEqual(rows)
})
