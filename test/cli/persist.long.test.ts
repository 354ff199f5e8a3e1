/** `tidemark persist`, run as by a user. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { buildManifest } from '../../gateway/persisted/build-manifest.ts'
import { readManifest } from '../../gateway/persisted/manifest.ts'
import { startServer } from '../support/front-schema.ts'
import { ask, makeServiceFolder, startService } from '../../harness/deployment/service.ts'

const COMMAND = join(import.meta.dirname, '..', '..', 'cli', 'tidemark.ts')
const SUPERGRAPH = join(import.meta.dirname, '..', '..', 'schema', 'supergraph.graphql')
const home = mkdtempSync(join(tmpdir(), 'tidemark-persist-'))
let folder = ''
let count = 0
beforeAll(() => mkdirSync(home, { recursive: true }))
beforeEach(() => {
  folder = join(home, String(count++))
  mkdirSync(join(folder, 'deep', 'node_modules'), { recursive: true })
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

const write = (name: string, text: string) => writeFileSync(join(folder, name), text)

function run(...args: string[]): Promise<{ status: number; out: string; error: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [COMMAND, 'persist', folder, ...args], { cwd: home }, (failure, out, error) =>
      resolve({ status: failure === null ? 0 : Number(failure.code), out, error }),
    )
  })
}

const HISTORY = 'query History($first: Int!) { viewerHistory(first: $first) { edges { node { ...Entry } } } }'
const ENTRY =
  '# what a row shows\nfragment Entry on Subject { ...Where   business }\nfragment Where on Subject { id }\nfragment Unused on Progress { position }'
const CLEAR = 'mutation Clear { clearHistory(input: {business: "video"}) { __typename } }'

describe('a manifest of a folder', () => {
  test('has each operation with the fragments it needs, from any file, and a server accepts it', async () => {
    write('history.graphql', HISTORY)
    write('deep/fragments.gql', `${ENTRY}\n${CLEAR}`)
    write('deep/node_modules/other.graphql', 'query Other {')
    write('notes.txt', 'query Notes {')
    const out = join(home, 'manifest.json')
    expect(await run('--out', out, '--schema', SUPERGRAPH)).toEqual({ status: 0, out: `${out}: 2 operations of 2 files\n`, error: '' })
    const { operations, mistakes } = readManifest(readFileSync(out, 'utf8'), out, 1_000)
    expect([operations.map(({ names }) => names), mistakes]).toEqual([[['Clear'], ['History']], []])
    expect(operations[1]?.body).toBe(
      'query History($first: Int!) {\n  viewerHistory(first: $first) {\n    edges {\n      node {\n        ...Entry\n      }\n    }\n  }\n}\n\n' +
        'fragment Entry on Subject {\n  ...Where\n  business\n}\n\nfragment Where on Subject {\n  id\n}',
    )
  })

  test('is printed without --out, in the format of Apollo or of Relay, with the same ids', async () => {
    write('history.graphql', `${HISTORY} ${ENTRY}`)
    const apollo = JSON.parse((await run('--client', 'ios')).out) as {
      operations: { id: string; clientName: string; type: string; name: string }[]
    }
    expect(apollo.operations).toMatchObject([{ clientName: 'ios', type: 'query', name: 'History' }])
    expect(Object.keys(JSON.parse((await run('--format', 'relay')).out) as object)).toEqual([apollo.operations[0]?.id])
  })

  test('has the same bytes for any distribution of its parts over files', () => {
    const build = (...texts: string[]) =>
      buildManifest(
        texts.map((text, index) => ({ name: `${index}.graphql`, text })),
        undefined,
      )
    const expected = build(HISTORY, ENTRY, CLEAR)
    expect(expected.mistakes).toEqual([])
    expect(build(CLEAR, ENTRY, HISTORY)).toEqual(expected)
    expect(build(`${CLEAR}\n\n${ENTRY}\n,,${HISTORY} # a comment`)).toEqual(expected)
  })
})

describe('a mistake is reported with its file and line', () => {
  test.each([
    ['no GraphQL', '\nquery A {', /a\.graphql:2:10: Syntax Error/],
    ['an operation without a name', '\n\n{ viewerHistory { pageInfo { hasNextPage } } }', /a\.graphql:3:1: the operation has no name/],
    ['a name that is taken', `${CLEAR}\n${CLEAR}`, /a\.graphql:2:1: the operation Clear is also in .*a\.graphql:1:1/],
    ['a fragment that is taken', `${ENTRY}\nfragment Where on Subject { business }`, /a\.graphql:5:1: the fragment Where is also in/],
    ['a fragment of nowhere', 'query A {\n  ...Nowhere\n}', /a\.graphql:2:6: Unknown fragment "Nowhere"/],
    [
      'a fragment that reaches itself',
      'query A { ...F }\nfragment F on Query { ...F }',
      /a\.graphql:2:23: Cannot spread fragment "F" within itself/,
    ],
    ['a variable of nowhere', 'query A {\n  subjects(business: $b, ids: []) { id }\n}', /a\.graphql:2:22: Variable "\$b" is not defined/],
    ['a piece of a schema', 'type Query { a: Int }', /a\.graphql:1:1 is a schema definition/],
  ])('%s', async (_name, text, sentence) => {
    write('a.graphql', text)
    const { status, out, error } = await run()
    expect([status, out, error]).toEqual([1, '', expect.stringMatching(sentence)])
  })

  test('an unknown field, against a schema', async () => {
    write('a.graphql', 'query A {\n  viewerHistori { pageInfo { hasNextPage } }\n}')
    expect((await run('--schema', SUPERGRAPH)).error).toMatch(/a\.graphql:2:3: Cannot query field "viewerHistori".*viewerHistory/)
    expect((await run()).status).toBe(0)
  })

  test('an unknown field, against a running service', async () => {
    const server = await startServer()
    write('a.graphql', 'query A {\n  hello\n  hallo\n}')
    expect((await run('--url', server.url)).error).toMatch(/a\.graphql:3:3: Cannot query field "hallo"/)
    await server.close()
    expect((await run('--url', server.url)).error).toMatch(/CONFIG_INVALID: the API at .* cannot be reached/)
  })

  test.each([
    [[], /has no operation: put them into files/],
    [['--schema', 'none.graphql'], /none\.graphql does not exist: correct --schema/],
    [['--url', 'nowhere'], /--url "nowhere" is not an address/],
    [['--schema', SUPERGRAPH, '--url', 'http://x'], /not both/],
  ])('the flags %j', async (flags, sentence) => {
    expect((await run(...flags)).error).toMatch(sentence)
  })
})

describe('a service', () => {
  test('accepts the manifest, answers its ids in every worker, and records unknown ones', async () => {
    write('a.graphql', `${CLEAR} query Settings { historySettings { paused } }`)
    const manifest = join(folder, 'manifest.json')
    await run('--out', manifest, '--schema', SUPERGRAPH)
    const [, settings] = readManifest(readFileSync(manifest, 'utf8'), manifest, 1_000).operations
    const place = makeServiceFolder()
    const report = join(place.folder, 'unknown.json')
    const service = await startService({
      folder: place.folder,
      workers: 2,
      settings: { persisted: { mode: 'report', manifests: [manifest], report } },
    })
    for (let i = 0; i < 8; i++) {
      const answer = await fetch(`${service.url.replace('/graphql', '')}/graphql/p/${settings?.id}`, {
        headers: { 'x-viewer-id': '7', connection: 'close' },
      })
      expect(await answer.json()).toEqual({ data: { historySettings: { paused: false } } })
      expect(answer.headers.get('cache-control')).toBe('no-store')
      await ask(service.url, '7', '{ historySettings { __typename } }', {}, { connection: 'close' })
    }
    expect(await service.stop()).toBe(0)
    expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject({
      operations: [{ body: '{ historySettings { __typename } }', count: 8 }],
    })
    place.remove()
  })

  test('does not start on a manifest that does not fit, and reports the reason', async () => {
    write('a.graphql', 'query A { nothing }')
    const manifest = join(folder, 'manifest.json')
    await run('--out', manifest)
    const place = makeServiceFolder()
    const started = startService({ folder: place.folder, settings: { persisted: { manifests: [manifest] } } })
    await expect(started).rejects.toThrow(
      /ended with status 1: CONFIG_INVALID: .*manifest\.json: A \(id [0-9a-f]{64}\) does not fit the schema/,
    )
    place.remove()
  })
})
