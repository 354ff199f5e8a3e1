/** `tidemark compose` and `tidemark check`, run as by a user. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { VIDEOS, startPartner, type Partner } from '../support/partner.ts'

const COMMAND = join(import.meta.dirname, '..', '..', 'cli', 'tidemark.ts')
const folder = mkdtempSync(join(tmpdir(), 'tidemark-check-'))
let partner: Partner | undefined
afterEach(async () => {
  await partner?.stop()
  partner = undefined
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function run(...args: string[]): Promise<{ status: number; out: string; error: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [COMMAND, ...args], { cwd: folder }, (failure, out, error) =>
      resolve({ status: failure === null ? 0 : Number(failure.code), out, error }),
    )
  })
}
function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  return name
}
function writeGraph(sdl: string): string {
  write('videos.graphql', sdl)
  return write('supergraph.yaml', 'subgraphs:\n  videos:\n    routing_url: http://videos/\n    schema: { file: videos.graphql }\n')
}

test('compose prints only the supergraph on standard output, or writes it, and both can be served', async () => {
  const path = writeGraph(VIDEOS)
  const printed = await run('compose', '--config', path)
  expect(printed.status).toBe(0)
  expect(printed.out).toMatch(/^schema\n?\s*@link/)
  expect(printed.error).toMatch(
    /^composed history \(in the process\), thumbup \(in the process\), feed-existence \(in the process\), feed \(in the process\), videos \(http:\/\/videos\/\): [0-9a-f]{16}\n$/,
  )
  expect((await run('compose', '--config', path, '--out', 'out.graphql')).out).toBe('')
  expect(readFileSync(join(folder, 'out.graphql'), 'utf8')).toBe(printed.out)
  const again = await run('compose', '--supergraph', 'out.graphql')
  expect(again.out.trim()).toBe(printed.out.trim())
})

test('compose accepts tidemark.yaml too, with its businesses in the graph', async () => {
  writeGraph(VIDEOS)
  mkdirSync(join(folder, 'settings'))
  // Its paths are relative to the file.
  write('settings/tm.yaml', 'server: { supergraph: ../supergraph.yaml }\nbusinesses: [{ number: 1, name: song, entity: Song }]\n')
  const { out } = await run('compose', '--config', 'settings/tm.yaml')
  expect(out).toContain('type Song')
  expect(out).toContain('title')
})

test('subgraphs that do not compose end it with status 1 and the reasons', async () => {
  const { status, error } = await run('compose', '--config', writeGraph(VIDEOS.replace('title: String', 'viewerProgress: Int')))
  expect(status).toBe(1)
  expect(error).toContain('CONFIG_INVALID: the subgraphs history, thumbup, feed-existence, feed, videos do not compose:')
  expect(error).toContain('without "videos" the others compose')
})

test('conflicting kinds of one type, on which the composer throws, end start, compose and check with a sentence and status 1', async () => {
  const link = 'extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key", "@interfaceObject"])'
  const people = `${link} interface User @key(fields: "id") { id: ID! } type Admin implements User @key(fields: "id") { id: ID! } type Query { admin: User }`
  const ages = `${link} type User @key(fields: "id") @interfaceObject { id: ID! age: Int }`
  const listed = Object.entries({ ages, people }).map(([name, sdl]) => [name, { routing_url: `http://${name}/`, schema: { sdl } }])
  const path = write('kinds.yaml', JSON.stringify({ subgraphs: Object.fromEntries(listed) }))
  for (const command of [
    ['compose', '--config'],
    ['check', '--config'],
    ['start', '--port', '0', '--data', 'data', '--supergraph'],
  ]) {
    const { status, error } = await run(...command, path)
    expect([status, error]).toEqual([
      1,
      expect.stringContaining(
        'the type User is an object type in "thumbup", "feed" and an object type with @interfaceObject in "ages" and an interface in "people": use one kind',
      ),
    ])
    expect(error).toContain('CONFIG_INVALID: the subgraphs history, thumbup, feed-existence, feed, ages, people do not compose:')
    expect(error).not.toContain('    at ')
  }
})

test('check compares with an older supergraph, and names the operations that use removed fields', async () => {
  await run('compose', '--config', writeGraph(VIDEOS), '--out', 'old.graphql')
  write(
    'operations.json',
    JSON.stringify({ a: 'query Titles { video(id: 1) { title viewerProgress { position } } }', b: 'query Ids { video(id: 1) { id } }' }),
  )
  writeGraph(VIDEOS.replace('title: String', 'name: String'))
  const flags = ['check', '--config', 'supergraph.yaml', '--against', 'old.graphql', '--operations', 'operations.json']
  const { status, out } = await run(...flags)
  expect(status).toBe(1)
  expect(out).toContain(
    'BREAKS  Video.title was removed. It was not deprecated: keep it, and name its successor in @deprecated. Used by Titles.',
  )
  expect(out).toContain('Operations: 1 of 2 can be served.')
  expect(out).toContain('BREAKS  Titles (operations.json): Cannot query field "title" on type "Video".')
  const json = JSON.parse((await run(...flags, '--json')).out) as { ok: boolean; operations: unknown[]; warnings: unknown[] }
  expect(json.ok).toBe(false)
  expect(json.operations).toContainEqual({
    name: 'Ids',
    file: 'operations.json',
    problems: [],
    cost: { fields: 2, depth: 2, points: 1, fetches: 1, waves: 1, subgraphs: ['videos'] },
  })
})

test('check lists additions as information', async () => {
  await run('compose', '--config', writeGraph(VIDEOS), '--out', 'old.graphql')
  writeGraph(`${VIDEOS.replace('title: String', 'title: String maker: Maker')} type Maker { name: String }`)
  const { status, out } = await run('check', '--config', 'supergraph.yaml', '--against', 'old.graphql')
  expect(status).toBe(0)
  expect(out).toContain(
    [
      'Nothing that breaks clients has changed.',
      'Additions, which break nothing:',
      '  added   Maker was added.',
      '  added   Video.maker was added.',
    ].join('\n'),
  )
  writeGraph(VIDEOS.replace('title: String', 'name: String'))
  const broken = await run('check', '--config', 'supergraph.yaml', '--against', 'old.graphql')
  expect(broken.status).toBe(1)
  expect(broken.out).toMatch(/BREAKS {2}Video.title was removed.*\n.*\n {2}added {3}Video.name was added\./)
})

test('check reports breaks that no known operation uses as unused, and ends with status 0', async () => {
  await run('compose', '--config', writeGraph(VIDEOS), '--out', 'old.graphql')
  write('ids.json', JSON.stringify({ b: 'query Ids { video(id: 1) { id } }' }))
  writeGraph(VIDEOS.replace('title: String', 'name: String'))
  const { status, out } = await run('check', '--config', 'supergraph.yaml', '--against', 'old.graphql', '--operations', 'ids.json')
  expect(status).toBe(0)
  expect(out).toContain('unused  Video.title was removed. No known operation uses it.')
  expect(out).toContain('Nothing breaks.')
  expect((await run('check', '--config', 'supergraph.yaml', '--against', 'old.graphql')).status).toBe(1)
})

test('check names the known operations above the cost limit of tidemark.yaml or --cost-max', async () => {
  writeGraph(VIDEOS)
  const feed = 'query Feed($n: Int = 50) { viewerHistory(first: $n) { edges { node { id } } } }'
  write('feed.json', JSON.stringify({ a: feed, b: 'query Ids { video(id: 1) { id } }' }))
  write('strict.yaml', 'server: { supergraph: supergraph.yaml, operationCostMax: 100 }\n')
  const check = (...flags: string[]) => run('check', '--operations', 'feed.json', ...flags)
  const open = await check('--config', 'supergraph.yaml')
  expect(open.status).toBe(0)
  expect(open.out).toMatch(/operation +fields +depth +points +fetches +waves/)
  expect(open.out).toMatch(/Feed +4 +4 +101 /)
  for (const flags of [
    ['--config', 'strict.yaml'],
    ['--config', 'supergraph.yaml', '--cost-max', '100'],
  ]) {
    const { status, out } = await check(...flags)
    expect(status).toBe(1)
    expect(out).toContain('BREAKS  Feed (feed.json): It costs 101 points without variables, more than 100')
    expect(out).toContain('Operations: 1 of 2 can be served.')
  }
})

test('check compares with a running API by its address', async () => {
  partner = await startPartner()
  const { status, out } = await run('check', '--config', writeGraph(VIDEOS), '--against', partner.url)
  // The partner alone has _service and _entities, which a graph hides.
  expect(out).toContain('BREAKS  Query._service was removed.')
  expect(status).toBe(1)
})

test('check --lint prints only the warnings, also as JSON', async () => {
  writeGraph(VIDEOS.replace('title: String', 'title: String!'))
  const { status, out } = await run('check', '--config', 'supergraph.yaml', '--lint')
  expect(status).toBe(0)
  expect(out).toMatch(/^Warnings:\n/)
  expect(out).toContain('non-null-across-subgraphs  Video.title is non-null: if "videos" does not answer')
  const json = JSON.parse((await run('check', '--config', 'supergraph.yaml', '--lint', '--json')).out) as { warnings: { rule: string }[] }
  expect(json.warnings.map(({ rule }) => rule)).toContain('non-null-across-subgraphs')
})

test.each([
  ['--against', 'gone.graphql', /gone\.graphql does not exist: correct --against/],
  ['--against', 'http://127.0.0.1:1/graphql', /the API at http:\/\/127\.0\.0\.1:1\/graphql cannot be reached/],
  ['--operations', 'gone', /gone does not exist: correct --operations/],
])('check %s %s is refused with a sentence', async (flag, value, sentence) => {
  const { status, error } = await run('check', '--config', writeGraph(VIDEOS), flag, value)
  expect(status).toBe(1)
  expect(error).toMatch(sentence)
})
