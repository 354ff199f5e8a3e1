/** Commands with wrong arguments, run as by a user: one sentence per mistake, and a status for scripts. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { runCommand } from '../../harness/deployment/command.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-refusals-'))
beforeEach(() => settings({}))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function settings(values: object): void {
  writeFileSync(join(folder, 'tidemark.yaml'), JSON.stringify(values))
}
const run = (...args: string[]) => runCommand(folder, args)

/** No server answers there. A command that is refused does not connect. */
const SERVERS = {
  redis: { urls: ['redis://127.0.0.1:1'] },
  kafka: { brokers: ['127.0.0.1:1'] },
  mysql: { url: 'mysql://u:p@127.0.0.1:1/d' },
}
const WITHOUT_LIKES = { businesses: [{ number: 1, name: 'video', entity: 'Video', thumbup: { enabled: false } }] }

test('subgraph thumbup and job thumbup are refused if no business has likes', async () => {
  settings({ ...WITHOUT_LIKES, stores: SERVERS })
  const sentence = 'CONFIG_INVALID: no business has thumbup: set thumbup.enabled of one\n'
  for (const command of ['subgraph', 'job']) {
    expect(await run(command, 'thumbup', '--port', '0')).toEqual({ status: 1, out: '', error: sentence })
  }
})

test('a job on a port in use is refused before it opens its stores', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  settings({ stores: SERVERS })
  for (const command of ['job', 'subgraph']) {
    const { status, out, error } = await run(command, 'history', '--port', String(port))
    expect({ status, out }).toEqual({ status: 1, out: '' })
    expect(error).toMatch(new RegExp(`^CONFIG_INVALID: server.port ${port} of 127.0.0.1 is in use: .*\n$`))
  }
  other.close()
})

test('a missing supergraph and missing manifests are reported together with invalid values', async () => {
  const files = { server: { port: -1, supergraph: 'none.yaml' }, persisted: { manifests: ['none.json', 'tidemark.yaml'] } }
  settings(files)
  const { status, error } = await run('start')
  expect(status).toBe(1)
  expect(error.trim().split('\n')).toEqual([
    expect.stringContaining('server.port: -1'),
    `the supergraph ${join(folder, 'none.yaml')} does not exist: correct server.supergraph or --supergraph`,
    `persisted.manifests: ${join(folder, 'none.json')} cannot be read: name an existing file or folder`,
  ])
  // A command that serves no graph does not need them.
  settings({ ...files, server: { supergraph: 'none.yaml' } })
  expect(await run('doctor')).toMatchObject({ status: 0 })
})

test('persist --out with a folder, or in one that nobody can make, and sample --skew without a number are refused with a sentence', async () => {
  writeFileSync(join(folder, 'a.graphql'), 'query Own { viewerHistory(first: 1) { edges { node { id } } } }')
  const persisted = await run('persist', '.', '--out', '.')
  expect(persisted).toMatchObject({ status: 1, error: expect.stringMatching(/^CONFIG_INVALID: .*correct --out\n$/) })
  const nowhere = await runCommand(folder, ['persist', '.', '--out', '/proc/tidemark/out.json'], { maxMs: 20_000 })
  expect(nowhere).toMatchObject({ status: 1, error: expect.stringMatching(/^CONFIG_INVALID: .*correct --out\n$/) })
  expect(await run('sample', '--skew', 'x')).toMatchObject({
    status: 1,
    error: "CONFIG_INVALID: option '--skew <number>' argument 'x' is invalid: give a number from 0 to 100\n",
  })
})

test.each([
  ['an unknown command', ['strat'], "unknown command 'strat' (Did you mean start?)"],
  ['an unknown option', ['events', '--aftr', '3'], "unknown option '--aftr' (Did you mean --after?)"],
  ['a missing argument', ['viewer', 'export'], "missing required argument 'id'"],
  ['a missing value', ['sample', '--skew'], "option '--skew <number>' argument missing"],
  ['a missing option', ['plan'], "required option '--viewers <number>' not specified"],
  ['an argument too many', ['doctor', 'x'], "too many arguments for 'doctor'. Expected 0 arguments but got 1: x"],
])('%s is refused with a code, in one sentence', async (_, args, mistake) => {
  const error = `CONFIG_INVALID: ${mistake}: add --help to see arguments and options\n`
  expect(await run(...args)).toEqual({ status: 1, out: '', error })
})

test('a mistake in the arguments of reconcile ends with status 3, since 1 says that a count differs', async () => {
  for (const wrong of [['--busines', 'video'], ['--business'], ['video'], ['--business', 'film']])
    expect(await run('reconcile', ...wrong)).toMatchObject({ status: 3, out: '', error: expect.stringMatching(/^\w+: .*\n$/) })
  expect(await run('reconcile', '--help')).toMatchObject({ status: 0, error: '' })
})
