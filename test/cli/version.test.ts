/** `tidemark --version`, run as by a user. */
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCommand } from '../../harness/deployment/command.ts'

test.each(['--version', '-V'])('%s prints the version of the package in one line, in any folder', async (option) => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8')) as { version: string }
  expect(await runCommand(tmpdir(), [option])).toEqual({ status: 0, out: `${version}\n`, error: '' })
})
