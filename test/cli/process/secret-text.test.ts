import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { secretText } from '../../../cli/process/secret-text.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-secret-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('@FILE is the text of the file without its final line break, and anything else is the secret itself', () => {
  const file = join(folder, 'key')
  writeFileSync(file, 'opensesame\n')
  expect(secretText(`@${file}`, '--secret')).toBe('opensesame')
  expect(secretText('opensesame', '--secret')).toBe('opensesame')
  expect(() => secretText(`@${file}.not`, '--secret')).toThrow(/^--secret names .*\.not, which cannot be read/)
})
