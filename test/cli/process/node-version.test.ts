import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const FILE = new URL('../../../cli/process/node-version.ts', import.meta.url)
const AS_VERSION = `
  Object.defineProperty(process, 'versions', { value: { ...process.versions, node: process.argv[1] } })
  await import(process.argv[2])`

it.each([
  ['20.19.5', false],
  ['22.20.9', false],
  ['22.21.0', true],
  ['23.11.0', false],
  ['24.8.0', false],
  ['24.9.0', true],
  ['25.0.0', true],
])('the command under Node %s starts: %s', async (version, starts) => {
  const args = ['--input-type=module', '-e', AS_VERSION, version, fileURLToPath(FILE)]
  const result = await promisify(execFile)(process.execPath, args).then(
    () => '',
    ({ stderr }: { stderr: string }) => stderr,
  )
  if (starts) expect(result).toBe('')
  else expect(result).toContain(`Tidemark needs Node 22.21 or a later 22, or Node 24.9 or later, and this is ${version}`)
})
