/** The npm package as its users have it: packed, and unpacked below node_modules beside its declared packages. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCommand } from '../../harness/deployment/command.ts'
import { ask, startService } from '../../harness/deployment/service.ts'

const ROOT = join(import.meta.dirname, '..', '..')
/** The folders that `npm run build` compiles. */
const BUILT = ['core', 'cache', 'stores', 'subgraphs', 'loaders', 'gateway', 'cli', 'schema']

const folder = mkdtempSync(join(tmpdir(), 'tidemark-packed-'))
const installed = join(folder, 'node_modules', 'tidemark')
let program: string

beforeAll(() => {
  execFileSync('npm', ['pack', '--silent', '--offline', '--pack-destination', folder], { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] })
  const { version, bin, dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    version: string
    bin: { tidemark: string }
    dependencies: Record<string, string>
  }
  mkdirSync(installed, { recursive: true })
  execFileSync('tar', ['-xzf', join(folder, `tidemark-${version}.tgz`), '-C', installed, '--strip-components=1'])
  for (const name of Object.keys(dependencies)) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', name), link)
  }
  program = join(installed, bin.tidemark)
  mkdirSync(join(folder, 'operations'))
  writeFileSync(
    join(folder, 'operations', 'all.graphql'),
    'query All { viewerHistory(first: 1) { edges { node { id } } } subjects(business: "video", ids: ["5"]) { viewerMark } }\n',
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const run = (...args: string[]) => runCommand(folder, args, { command: program })

test('every source file that is not a module is in the package, beside the compiled modules', () => {
  const listed = execFileSync('git', ['ls-files', '-z', ...BUILT], { cwd: ROOT, encoding: 'utf8' }).split('\0')
  const files = listed.filter((path) => path !== '' && !path.endsWith('.md') && (path.endsWith('.d.ts') || !path.endsWith('.ts')))
  expect(files.length).toBeGreaterThan(30)
  expect(files.filter((path) => !existsSync(join(installed, 'dist', path)))).toEqual([])
})

test('compose prints the graph that check, persist --schema and start accept', async () => {
  expect(await run('compose', '--out', 'graph.graphql')).toMatchObject({ status: 0 })
  const composed = readFileSync(join(folder, 'graph.graphql'), 'utf8')
  for (const field of ['viewerHistory', 'subjects', 'unseen']) expect(composed).toContain(field)

  expect(await run('check', '--against', 'graph.graphql', '--operations', 'operations')).toMatchObject({ status: 0 })
  writeFileSync(join(folder, 'smaller.graphql'), 'type Query { viewerHistory: String }')
  expect(await run('check', '--against', 'smaller.graphql')).toMatchObject({ status: 1 })

  const persisted = await run('persist', 'operations', '--schema', 'graph.graphql')
  expect(persisted).toMatchObject({ status: 0, out: expect.stringContaining('query All') })

  for (const workers of [1, 2]) {
    const service = await startService({ folder, program, workers, settings: { server: { supergraph: 'graph.graphql' } } })
    try {
      const report = 'mutation { reportProgress(input: {business: "video", id: "5", position: 1000}) { outcome } }'
      expect(await ask(service.url, '7', report)).toEqual({ data: { reportProgress: { outcome: 'ACCEPTED' } } })
      const read =
        '{ viewerHistory(first: 1) { edges { node { id } } } subjects(business: "video", ids: ["5"]) { viewerMark } unseen(business: "video", candidates: ["6"]) { ids } }'
      const { data, errors } = await ask(service.url, '7', read)
      expect(errors).toBeUndefined()
      expect(data).toEqual({
        viewerHistory: { edges: [{ node: { id: '5' } }] },
        subjects: [{ viewerMark: 'NONE' }],
        unseen: { ids: ['6'] },
      })
    } finally {
      expect(await service.stop()).toBe(0)
    }
  }
})

test('migrate --print has the schema of the record store', async () => {
  expect(await run('migrate', '--print')).toMatchObject({ status: 0, out: expect.stringContaining('CREATE TABLE') })
})
