import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ERRORS, TidemarkError } from '../../core/errors.ts'

const HOME = join(import.meta.dirname, '..', '..')
const FOLDERS = ['config', 'core', 'cache', 'stores', 'writeback', 'subgraphs', 'loaders', 'gateway', 'cli', 'scripts']

const sources = FOLDERS.flatMap((folder) =>
  readdirSync(join(HOME, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
)
  .filter((file) => file.endsWith('.ts') && file !== join('core', 'errors.ts'))
  .map((file) => readFileSync(join(HOME, file), 'utf8'))
const reference = readFileSync(join(HOME, 'docs', 'reference', 'errors.md'), 'utf8')

describe('the table of errors', () => {
  test.each(Object.entries(ERRORS))('%s is thrown somewhere, and the reference has its meaning', (code, entry) => {
    expect(sources.some((text) => text.includes(`'${code}'`))).toBe(true)
    expect(reference).toContain(`| \`${code}\` | ${entry.meaning} |`)
  })

  test('an error has its code in the field that GraphQL libraries read', () => {
    expect(new TidemarkError('STORE_FULL', 'the disk is full: free some').extensions).toEqual({ code: 'STORE_FULL', retryable: true })
  })
})
