import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const FILE = new URL('../../../cli/process/node-version.ts', import.meta.url)
const AS_VERSION = `
  Object.defineProperty(process, 'versions', { value: { ...process.versions, node: process.argv[1] } })
  await import(process.argv[2])`

it.each([
  ['20.20.2', false],
  ['22.22.1', false],
  ['22.22.2', true],
  ['22.23.0', true],
  ['23.11.0', false],
  ['24.14.0', false],
  ['24.14.1', true],
  ['24.15.0', true],
  ['25.9.0', false],
  ['26.0.0', true],
])('the command under Node %s starts: %s', async (version, starts) => {
  const args = ['--input-type=module', '-e', AS_VERSION, version, fileURLToPath(FILE)]
  const result = await promisify(execFile)(process.execPath, args).then(
    () => '',
    ({ stderr }: { stderr: string }) => stderr,
  )
  if (starts) expect(result).toBe('')
  else {
    expect(result).toContain(`Tidemark does not run on Node ${version}: `)
    expect(result).toContain('install Node 22 (22.22.2 or later), Node 24 (24.14.1 or later), or Node 26 or later')
  }
})
