/** The example of a partner subgraph, from a copy in a clean folder, next to the real service. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { VIDEOS, startPartner } from '../support/partner.ts'
import { ask, makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'
import { until } from '../../harness/until.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const REPORT = 'mutation { reportProgress(input: {business: "video", id: "42", position: 600000}) { outcome } }'
const MARK = 'mutation { setMark(input: {business: "video", id: "42", mark: LIKE}) { outcome } }'
/** One field of each subgraph. */
const VIDEO = '{ video(id: 42) { title author { name } viewerProgress { position } viewerMark likeCount viewerSeen } }'
const HISTORY = '{ viewerHistory { edges { node { id viewerProgress { position } ... on Video { title author { name } } } } } }'

let example = ''
const ends: (() => Promise<unknown> | void)[] = []
beforeEach(() => {
  example = mkdtempSync(join(tmpdir(), 'tidemark-partner-'))
  ends.push(() => rmSync(example, { recursive: true, force: true }))
  cpSync(join(ROOT, 'examples', 'partner-subgraph'), example, {
    recursive: true,
    filter: (path) => !path.endsWith('node_modules'),
  })
  // It uses the packages of the repository in the same versions, because an installation would test the registry.
  symlinkSync(join(ROOT, 'node_modules'), join(example, 'node_modules'))
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** Resolves to its port. */
async function startExample(): Promise<{ port: number; stop(): Promise<unknown> }> {
  const child = spawn(process.execPath, ['server.js'], {
    cwd: example,
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const [text] = (await once(child.stdout, 'data')) as [Buffer]
  const stop = () => {
    child.kill('SIGTERM')
    return exited
  }
  ends.push(stop)
  return { port: Number(/:(\d+)\//.exec(String(text))?.[1]), stop }
}

function editSupergraph(port: number): string {
  const path = join(example, 'supergraph.yaml')
  writeFileSync(path, readFileSync(path, 'utf8').replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`))
  return path
}

async function startWith(supergraph: string, workers = 1): Promise<Service> {
  const { folder, remove } = makeServiceFolder()
  ends.push(remove)
  const service = await startService({ folder, workers, settings: { server: { supergraph }, supergraph: { pollMs: 0 } } })
  ends.push(() => (service.process.exitCode === null ? service.stop() : undefined))
  return service
}

test('its package depends on the versions of the repository', () => {
  const versionsOf = (folder: string) =>
    (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { dependencies: object }).dependencies
  expect(versionsOf(ROOT)).toMatchObject(versionsOf(example))
})

test('its own tests pass', () => {
  execFileSync(process.execPath, ['--test'], { cwd: example, stdio: 'pipe' })
})

test('one query reads fields of the partner and of all our subgraphs; while the partner is down, our fields are still answered', async () => {
  const partner = await startExample()
  const service = await startWith(editSupergraph(partner.port))
  const { url } = service
  expect(await ask(url, '7', REPORT)).toEqual({ data: { reportProgress: { outcome: 'ACCEPTED' } } })
  expect(await ask(url, '7', MARK)).toEqual({ data: { setMark: { outcome: 'ACCEPTED' } } })
  const ours = { viewerProgress: { position: 600_000 }, viewerMark: 'LIKE', likeCount: 1, viewerSeen: 'PLAYED' }
  expect(await ask(url, '7', VIDEO)).toEqual({ data: { video: { title: 'Currents, part 5', author: { name: 'Barbara' }, ...ours } } })
  const subject = { id: '42', title: 'Currents, part 5', author: { name: 'Barbara' }, viewerProgress: { position: 600_000 } }
  expect(await ask(url, '7', HISTORY)).toEqual({ data: { viewerHistory: { edges: [{ node: subject }] } } })
  const { extensions } = (await ask(url, '7', HISTORY, {}, { 'x-tidemark-plan': '1' })) as { extensions?: { plan: { subgraph: string }[] } }
  expect(extensions?.plan.map(({ subgraph }) => subgraph)).toEqual(expect.arrayContaining(['history', 'catalog']))
  await partner.stop()
  const { data, errors } = await ask(url, '7', HISTORY)
  expect(data).toEqual({ viewerHistory: { edges: [{ node: { ...subject, title: null, author: null } }] } })
  expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['SUBGRAPH_UNAVAILABLE'])
  expect(service.log()).toMatch(/"subgraph":"catalog".*a subgraph did not answer/)
})

test('every worker serves an edited schema without a restart, and SIGHUP to the service checks again', async () => {
  const partner = await startExample()
  const supergraph = editSupergraph(partner.port)
  const service = await startWith(supergraph, 2)
  expect((await ask(service.url, '7', '{ __type(name: "Video") { fields { name } } }')).data.__type.fields).not.toContainEqual({
    name: 'year',
  })
  const schema = join(example, 'schema.graphql')
  writeFileSync(schema, readFileSync(schema, 'utf8').replace('title: String', 'title: String\n  year: Int'))
  const metric = async (line: RegExp) => Number(line.exec(await (await fetch(new URL('/metrics', service.url))).text())?.[1] ?? 0)
  await until('the gateway has noticed', async () => (await metric(/tidemark_supergraph_reloads_total\{result="swapped"\} (\d+)/)) === 2)
  for (let round = 0; round < 10; round += 1) {
    const { data } = await ask(service.url, '7', '{ __type(name: "Video") { fields { name } } }')
    expect(data.__type.fields).toContainEqual({ name: 'year' })
  }
  const unchanged = () => metric(/tidemark_supergraph_reloads_total\{result="unchanged"\} (\d+)/)
  const before = await unchanged()
  process.kill(service.pid, 'SIGHUP')
  await until('the gateway has noticed', async () => (await unchanged()) === before + 2)
  writeFileSync(schema, 'type Query {')
  await until('the gateway has noticed', async () => (await metric(/tidemark_supergraph_reloads_total\{result="failed"\} (\d+)/)) === 2)
  expect(service.log()).toMatch(/the old one still serves: the schema of the subgraph \\"catalog\\" is not GraphQL, line 1/)
  expect((await ask(service.url, '7', '{ video(id: 1) { title } }')).data).toEqual({ video: { title: 'Tides, part 1' } })
  expect(await service.stop()).toBe(0)
})

test('a partner gets the viewer in a signed header', async () => {
  const partner = await startPartner()
  ends.push(() => partner.stop())
  const { folder, remove } = makeServiceFolder()
  ends.push(remove)
  const supergraph = { subgraphs: { videos: { routing_url: partner.url, schema: { sdl: VIDEOS } } } }
  writeFileSync(join(folder, 'supergraph.yaml'), JSON.stringify(supergraph))
  const settings = { server: { supergraph: 'supergraph.yaml' }, auth: { identity: { secret: 's'.repeat(32) } } }
  const service = await startService({ folder, settings })
  ends.push(() => service.stop())
  expect(await ask(service.url, '7', '{ video(id: 1) { title } }')).toEqual({ data: { video: { title: 'title of 1' } } })
  const claims = JSON.parse(Buffer.from(String(partner.header('tidemark-identity')).split('.')[1] ?? '', 'base64url').toString()) as unknown
  expect(claims).toMatchObject({ sub: '7', aud: 'videos', iss: 'tidemark' })
})

test('a new graph that breaks a persisted operation is refused; a compatible one is accepted, and the operation still works', async () => {
  const partner = await startPartner()
  ends.push(() => partner.stop())
  const { folder, remove } = makeServiceFolder()
  ends.push(remove)
  const supergraph = { subgraphs: { videos: { routing_url: partner.url, schema: { file: 'videos.graphql' } } } }
  const schema = join(folder, 'videos.graphql')
  writeFileSync(schema, VIDEOS)
  writeFileSync(join(folder, 'supergraph.yaml'), JSON.stringify(supergraph))
  writeFileSync(join(folder, 'operations.json'), JSON.stringify({ title: 'query Title { video(id: 1) { title } }' }))
  const settings = { server: { supergraph: 'supergraph.yaml' }, persisted: { manifests: [join(folder, 'operations.json')] } }
  const service = await startService({ folder, settings })
  ends.push(() => service.stop())
  const call = async (): Promise<unknown> => (await fetch(new URL('/graphql/p/title', service.url))).json()
  const expected = { data: { video: { title: 'title of 1' } } }
  expect(await call()).toEqual(expected)
  writeFileSync(schema, VIDEOS.replace('title: String', 'name: String'))
  await until('the gateway has noticed', async () =>
    /the old one still serves: .*Title \(id title\) does not fit the schema/.test(service.log()),
  )
  expect(await call()).toEqual(expected)
  writeFileSync(schema, VIDEOS.replace('title: String', 'title: String name: String'))
  await until('the gateway has noticed', async () => /the supergraph was reloaded/.test(service.log()))
  expect(await call()).toEqual(expected)
})

test('a mistake in supergraph.yaml ends the start with its message', async () => {
  const path = join(example, 'supergraph.yaml')
  writeFileSync(path, 'subgraphs:\n  catalog:\n    routing_url: http://127.0.0.1:1/\n    schema: { file: gone.graphql }\n')
  await expect(startWith(path)).rejects.toThrow(/status 1: CONFIG_INVALID: .*gone\.graphql, cannot be read/)
})
