/** `compose`, `check` and `persist --schema` compared with the graph that `start` serves: all of them use the same graph. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { runCommand, type Ended } from '../../harness/deployment/command.ts'
import { expectEverySubgraph } from '../support/own-graph.ts'
import { LINK, VIDEOS, startPartner, type Partner } from '../support/partner.ts'
import { ask, makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'
import { until } from '../../harness/until.ts'

const SONG = { number: 7, name: 'song', entity: 'Song' }
const NEWS = { number: 8, name: 'news', entity: 'News', thumbup: { enabled: false } }
const VIDEO = { number: 1, name: 'video', entity: 'Video' }

let partner: Partner
const { folder, remove } = makeServiceFolder()
const ends: (() => unknown)[] = []
beforeAll(async () => {
  partner = await startPartner()
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  // The commands read this file by default.
  rmSync(join(folder, 'tidemark.yaml'), { force: true })
})
afterAll(async () => {
  await partner.stop()
  remove()
})

function write(name: string, content: unknown): string {
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
  return name
}

/** The partner, and subgraphs that run elsewhere. */
function writeGraph(sdl = VIDEOS, others: Record<string, unknown> = {}, name = 'supergraph.yaml'): string {
  return write(name, { subgraphs: { ...others, videos: { routing_url: partner.url, schema: { sdl } } } })
}

const run = (...args: string[]): Promise<Ended> => runCommand(folder, args)

async function serve(supergraph: string, settings: Record<string, unknown> = {}, command?: readonly string[]): Promise<Service> {
  const place = makeServiceFolder()
  const server = supergraph === '' ? {} : { server: { supergraph: join(folder, supergraph) } }
  const service = await startService({ folder: place.folder, settings: { ...settings, ...server }, ...(command && { command }) })
  ends.push(place.remove, () => (service.process.exitCode === null ? service.stop() : undefined))
  return service
}

const INTROSPECTION =
  '{ __schema { types { name kind possibleTypes { name } enumValues { name } inputFields { name } fields { name args { name type { name } } type { name kind ofType { name kind } } } } } }'

const schemaOf = async (url: string) => (await ask(url, undefined, INTROSPECTION)).data as unknown

async function hashOf(url: string): Promise<string | undefined> {
  const metrics = await (await fetch(new URL('/metrics', url))).text()
  return /tidemark_supergraph_info\{hash="(\w+)"\} 1/.exec(metrics)?.[1]
}

describe('the graph that compose writes', () => {
  test.each([
    ['default businesses', {}, 'video', 'Video'],
    ['businesses with entity types of their own', { businesses: [VIDEO, SONG, NEWS] }, 'song', 'Song'],
  ])('is the graph that start serves, and answers for every subgraph and the partner: %s', async (_, settings, business, entity) => {
    writeGraph()
    write('tidemark.yaml', { ...settings, server: { supergraph: 'supergraph.yaml' } })
    const composed = await run('compose', '--out', 'composed.graphql')
    expect(composed.status).toBe(0)
    const ours = ['history', 'thumbup', 'feed-existence', ...(business === 'video' ? ['feed'] : [])]
    expect(composed.error.startsWith(`composed ${ours.map((name) => `${name} (in the process), `).join('')}videos`)).toBe(true)
    const listed = await serve('supergraph.yaml', settings)
    const served = await serve('composed.graphql', settings)
    expect(composed.error).toContain(`: ${await hashOf(listed.url)}, in composed.graphql`)
    expect(await hashOf(served.url)).toBe(await hashOf(listed.url))
    expect(await schemaOf(served.url)).toEqual(await schemaOf(listed.url))
    await expectEverySubgraph(served.url, business, entity)
    expect(served.log()).not.toContain('compose it again')
  })

  test('sends requests to a built-in subgraph at the address in supergraph.yaml', async () => {
    const auth = { identity: { secret: 's'.repeat(32) } }
    const thumbup = await serve('', { auth }, ['subgraph', 'thumbup'])
    writeGraph(VIDEOS, { thumbup: { routing_url: thumbup.url } })
    const composed = await run('compose', '--config', 'supergraph.yaml', '--out', 'composed.graphql')
    expect(composed.error).toContain(`thumbup (${thumbup.url})`)
    const served = await serve('composed.graphql', { auth })
    await expectEverySubgraph(served.url)
    const plan = await ask(served.url, '7', '{ video(id: 42) { likeCount } }', {}, { 'x-tidemark-plan': '1' })
    expect(plan).toMatchObject({ data: { video: { likeCount: 1 } } })
    expect(await thumbup.stop()).toBe(0)
    const { data, errors } = await ask(served.url, '7', '{ video(id: 42) { title likeCount } }')
    expect([data, errors?.map(({ extensions }) => extensions.code)]).toEqual([
      { video: { title: 'title of 42', likeCount: null } },
      ['SUBGRAPH_UNAVAILABLE'],
    ])
  })

  test('has no subgraph that the settings disable', async () => {
    write('tidemark.yaml', { businesses: [NEWS] })
    const { error, out } = await run('compose')
    expect(error).toMatch(/^composed history \(in the process\), feed-existence \(in the process\): /)
    expect(out).not.toContain('viewerMark')
    const served = await serve('', { businesses: [NEWS] })
    expect(error).toContain(`: ${await hashOf(served.url)}`)
  })

  test('is reported by start, check and compose if it lacks a configured subgraph or configured fields', async () => {
    write('old.yaml', { businesses: [{ ...VIDEO, thumbup: { enabled: false } }] })
    await run('compose', '--config', 'old.yaml', '--out', 'old.graphql')
    const served = await serve('old.graphql', { businesses: [VIDEO, SONG] })
    const without = 'the supergraph has no subgraph \\"thumbup\\", which is configured: compose it again'
    await until('the service has said it', () => served.log().includes(without))
    expect(served.log()).toContain('the supergraph lacks Song.id and 2 more fields of the subgraph \\"history\\"')
    write('tidemark.yaml', { businesses: [VIDEO, SONG] })
    const checked = await run('check', '--supergraph', 'old.graphql')
    expect([checked.status, checked.out]).toEqual([
      0,
      expect.stringContaining(`supergraph-lacks-ours  ${without.replaceAll('\\', '')}`) as unknown,
    ])
    expect((await run('compose', '--supergraph', 'old.graphql')).error).toContain(without.replaceAll('\\', ''))
  })
})

describe('check against a running service', () => {
  const OPERATIONS = {
    mine: 'query Mine { viewerHistory { edges { node { id } } } subjects(business: "video", ids: ["1"]) { viewerMark } }',
    video: 'query OneVideo { video(id: 1) { title viewerMark viewerSeen viewerProgress { position } } }',
  }

  let service: Service
  let stopService = async () => {}
  beforeAll(async () => {
    writeGraph()
    service = await serve('supergraph.yaml')
    const [removeFolder, stop] = ends.splice(0)
    stopService = async () => {
      await stop?.()
      removeFolder?.()
    }
    await run('compose', '--config', 'supergraph.yaml', '--out', 'served.graphql')
  })
  afterAll(() => stopService())

  test.each<[string, string, string, number, RegExp]>([
    ['an unchanged graph', VIDEOS, '', 0, /Nothing that breaks clients has changed\.[\s\S]*Nothing breaks\./],
    ['a partner that is added', VIDEOS, `${LINK} type Query { "A rating." rating: Int }`, 0, /ratings \(http[\s\S]*Nothing breaks\./],
    ['a partner that is broken', VIDEOS, 'type Query { rating: Int', 1, /the schema of the subgraph "ratings" is not GraphQL, line 1/],
    [
      'a field that is removed',
      VIDEOS.replace('title: String', 'name: String'),
      '',
      1,
      /BREAKS {2}Video\.title was removed\. It was not deprecated: keep it/,
    ],
    [
      'an operation that is broken',
      VIDEOS.replace('title: String', 'title(short: Boolean!): String'),
      '',
      1,
      /BREAKS {2}OneVideo \(operations\.json\): .*argument "short" of type "Boolean!" is required/,
    ],
    [
      'a conflict with a subgraph of ours',
      VIDEOS,
      `${LINK} type Query { rating: Int } type Video @key(fields: "id") { id: ID! likeCount: Int }`,
      1,
      /the subgraphs history, thumbup, feed-existence, feed, videos, ratings do not compose:[\s\S]*likeCount[\s\S]*without "ratings"/,
    ],
  ])('%s', async (_, videos, ratings, status, sentence) => {
    const joined = ratings === '' ? {} : { ratings: { routing_url: partner.url, schema: { sdl: ratings } } }
    write('new.yaml', { subgraphs: { videos: { routing_url: partner.url, schema: { sdl: videos } }, ...joined } })
    write('operations.json', OPERATIONS)
    // As it is served, and as it was composed.
    for (const against of [service.url, 'served.graphql']) {
      const ended = await run('check', '--config', 'new.yaml', '--against', against, '--operations', 'operations.json')
      expect([against, ended.status, ended.out + ended.error]).toEqual([against, status, expect.stringMatching(sentence)])
    }
  })

  test('a graph on which the composer throws is refused while the service runs, and the old graph still serves', async () => {
    const people = `${LINK} interface User @key(fields: "id") { id: ID! } type Admin implements User @key(fields: "id") { id: ID! } type Query { admin: User }`
    const ages = `${LINK.replace('"@key"', '"@key", "@interfaceObject"')} type User @key(fields: "id") @interfaceObject { id: ID! age: Int }`
    const other = (sdl: string) => ({ routing_url: partner.url, schema: { sdl } })
    writeGraph(VIDEOS, { ages: other(ages), people: other(people) })
    await until('the service has looked', () => service.log().includes('the old one still serves: '))
    expect(service.log()).toMatch(/the old one still serves: the subgraphs [^"]* do not compose:\\nthe type User is an object type in/)
    expect((await ask(service.url, '7', '{ video(id: 42) { title } }')).data).toEqual({ video: { title: 'title of 42' } })
    writeGraph()
  })

  test('a removed business is a breaking change, also against an earlier supergraph', async () => {
    write('before.yaml', { businesses: [VIDEO, SONG] })
    await run('compose', '--config', 'before.yaml', '--out', 'before.graphql')
    write('tidemark.yaml', { businesses: [VIDEO] })
    for (const against of ['before.graphql', 'before.yaml']) {
      const { status, out } = await run('check', '--against', against)
      expect([status, out]).toEqual([1, expect.stringContaining('BREAKS  Song was removed.')])
    }
  })
})

describe('persist --schema', () => {
  const OPERATION =
    'query Everything { viewerHistory { edges { node { id } } } subjects(business: "video", ids: ["1"]) { viewerMark } ' +
    'unseen(business: "video", candidates: ["1"]) { ids } video(id: 1) { title likeCount viewerSeen } }'

  test('reads all subgraphs and the partner from each form of a graph, and start accepts the manifest', async () => {
    writeGraph()
    const settings = { server: { supergraph: 'supergraph.yaml' } }
    write('tidemark.yaml', settings)
    write('settings.json', settings)
    await run('compose', '--out', 'composed.graphql')
    mkdirSync(join(folder, 'operations'))
    for (const schema of ['composed.graphql', 'supergraph.yaml', 'tidemark.yaml', 'settings.json']) {
      write('operations/all.graphql', OPERATION)
      expect(await run('persist', 'operations', '--schema', schema, '--out', 'manifest.json')).toEqual({
        status: 0,
        out: 'manifest.json: 1 operations of 1 files\n',
        error: '',
      })
      write('operations/all.graphql', OPERATION.replace('likeCount', 'likeCounts'))
      expect(await run('persist', 'operations', '--schema', schema)).toMatchObject({
        status: 1,
        error: expect.stringMatching(/all\.graphql:1:\d+: Cannot query field "likeCounts" on type "Video"/) as unknown,
      })
    }
    const served = await serve('composed.graphql', { persisted: { mode: 'enforce', manifests: [join(folder, 'manifest.json')] } })
    const [{ id }] = (JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as { operations: [{ id: string }] }).operations
    const answer = await fetch(new URL(`/graphql/p/${id}`, served.url), { headers: { 'x-viewer-id': '7' } })
    expect(await answer.json()).toEqual({
      data: {
        viewerHistory: { edges: [] },
        subjects: [{ viewerMark: 'NONE' }],
        unseen: { ids: ['1'] },
        video: { title: 'title of 1', likeCount: 0, viewerSeen: null },
      },
    })
  })
})
