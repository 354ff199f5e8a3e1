/** supergraph.yaml: the subgraphs that it lists, and one message for each mistake. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { gather } from '../../../gateway/supergraph/gather.ts'
import { loadSupergraph } from '../../../gateway/supergraph/load.ts'
import { LINK, VIDEOS, startPartner, type Partner } from '../../support/partner.ts'

const HISTORY = {
  name: 'history',
  sdl: `${LINK}
type Query { "Watched." viewerHistory: [Video!]! }
type Video @key(fields: "id") { id: ID! viewerProgress: Progress }
type Progress { position: Int! }`,
}
const folder = mkdtempSync(join(tmpdir(), 'tidemark-supergraph-'))
const partners: Partner[] = []
afterEach(async () => {
  for (const partner of partners.splice(0)) await partner.stop()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, text: string): string {
  const path = join(folder, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
  return path
}
async function begin(sdl?: string): Promise<Partner> {
  const partner = await startPartner(sdl)
  partners.push(partner)
  return partner
}
async function load(path: string | undefined, environment = {}) {
  return loadSupergraph(await gather(path, [HISTORY], { fetchTimeoutMs: 300, environment }), [HISTORY])
}
const yaml = (subgraphs: unknown, more: object = {}) => write('supergraph.yaml', JSON.stringify({ ...more, subgraphs }))
const sentenceOf = async (path: string, environment = {}): Promise<string> =>
  load(path, environment).then(
    () => 'it loads',
    (error: { code?: string; message: string }) => `${error.code}: ${error.message}`,
  )

describe('gathered subgraphs', () => {
  test('our subgraphs need no listing and run in the process, and a partner is reached by its routing_url', async () => {
    write('schemas/videos.graphql', VIDEOS)
    const { sdl, placements } = await load(
      yaml({ videos: { routing_url: 'http://videos/', schema: { file: 'schemas/videos.graphql' } } }, { federation_version: '=2.9.0' }),
    )
    expect(placements).toEqual([
      { name: 'history', url: undefined },
      { name: 'videos', url: 'http://videos/' },
    ])
    expect(sdl).toContain('title')
  })

  test('a schema may be in the file itself', async () => {
    expect((await load(yaml({ videos: { routing_url: 'http://videos/', schema: { sdl: VIDEOS } } }))).placements).toHaveLength(2)
  })

  test('a partner is asked for its schema, and requests go to that address unless routing_url gives another', async () => {
    const { url } = await begin()
    expect((await load(yaml({ videos: { schema: { subgraph_url: url } } }))).placements[1]).toEqual({ name: 'videos', url })
    expect((await load(yaml({ videos: { routing_url: 'http://v/', schema: { subgraph_url: url } } }))).placements[1]?.url).toBe('http://v/')
  })

  test('introspection_headers are sent, with ${env.NAME} replaced', async () => {
    const partner = await begin()
    const seen: unknown[] = []
    partner.answer((request, response) => {
      seen.push(request.headers['authorization'])
      response.end(JSON.stringify({ data: { _service: { sdl: VIDEOS } } }))
    })
    const schema = { subgraph_url: partner.url, introspection_headers: { Authorization: 'Bearer ${env.VIDEOS_KEY}' } }
    await load(yaml({ videos: { schema } }), { VIDEOS_KEY: 'k1' })
    expect(seen).toEqual(['Bearer k1'])
  })

  test('one of our subgraphs with a routing_url runs there', async () => {
    expect((await load(yaml({ history: { routing_url: 'http://history/' } }))).placements).toEqual([
      { name: 'history', url: 'http://history/' },
    ])
  })

  test('a composed supergraph gives each subgraph its address', async () => {
    const composed = composeSupergraph([HISTORY, { name: 'videos', sdl: VIDEOS, url: 'http://videos/' }])
    expect((await load(write('supergraph.graphql', composed))).placements).toEqual([
      { name: 'history', url: undefined },
      { name: 'videos', url: 'http://videos/' },
    ])
  })

  test('the fingerprint changes only if a schema does', async () => {
    const partner = await begin()
    const path = yaml({ videos: { schema: { subgraph_url: partner.url } } })
    const print = async () => (await gather(path, [HISTORY], { fetchTimeoutMs: 300 })).fingerprint
    const first = await print()
    expect(await print()).toBe(first)
    partner.become(VIDEOS.replace('title: String', 'title: String length: Int'))
    expect(await print()).not.toBe(first)
  })
})

describe('mistakes', () => {
  const videos = (schema: object) => ({ videos: { routing_url: 'http://videos/', schema } })

  test.each([
    [
      'a file that is missing',
      () => join(folder, 'absent.yaml'),
      /absent\.yaml does not exist: correct server\.supergraph or --supergraph/,
    ],
    ['bad YAML, with its line', () => write('bad.yaml', 'subgraphs:\n  videos:\n    a: [1\n  b: 2\n'), /bad\.yaml:[345] is not YAML: /],
    ['a file of another kind', () => write('list.yaml', '- 1\n'), /list\.yaml is neither a supergraph\.yaml/],
    ['a schema that is not a supergraph', () => write('a.graphql', VIDEOS), /a\.graphql is a schema, not a supergraph: compose it/],
    ['no subgraphs', () => write('none.yaml', 'federation_version: 2\n'), /none\.yaml: subgraphs: this key is missing/],
    ['an unknown key', () => yaml({ videos: { rooting_url: 'http://v/' } }), /subgraphs\.videos\.rooting_url is not a key/],
    ['a registry', () => yaml(videos({ graphref: 'a@b' })), /schema\.graphref names a schema registry/],
    ['an invalid address', () => yaml({ videos: { routing_url: 'videos:4001' } }), /routing_url: write http:\/\/host:port/],
    ['federation 1', () => yaml({}, { federation_version: 1 }), /federation_version is "1": write 2/],
    ['two sources of one schema', () => yaml(videos({ file: 'a', sdl: 'b' })), /exactly one of file, subgraph_url and sdl/],
    ['no schema', () => yaml({ videos: { routing_url: 'http://v/' } }), /subgraphs\.videos has no schema: give it a file/],
    ['no address', () => yaml({ videos: { schema: { sdl: VIDEOS } } }), /subgraphs\.videos has no routing_url/],
    ['nearly equal names', () => yaml({ 'a-b': {}, a_b: {} }), /"a-b" and "a_b" have names that differ only in case or punctuation/],
    ['a schema file that is missing', () => yaml(videos({ file: 'gone.graphql' })), /gone\.graphql, cannot be read/],
    ['a schema that is not GraphQL', () => yaml(videos({ sdl: 'type Query {\n  a\n}' })), /"videos" is not GraphQL, line 3: /],
    ['ours without an address', () => yaml({ history: {} }), /history is one of ours and runs in this process: leave it out/],
    [
      'a name of ours',
      () => yaml({ history: { routing_url: 'http://v/', schema: { sdl: VIDEOS } } }),
      /name of one of our subgraphs, but its schema lacks Query\.viewerHistory/,
    ],
    ['a variable that is not set', () => yaml(videos({ sdl: '${env.NOT_SET}' })), /needs the environment variable NOT_SET/],
  ])('%s is reported in one line', async (_, path, sentence) => {
    const message = await sentenceOf(path())
    expect(message).toMatch(/^CONFIG_INVALID: /)
    expect(message).toMatch(sentence)
    expect(message.split('\n')).toHaveLength(1)
  })

  test('all subgraphs without a schema are reported together', async () => {
    const message = await sentenceOf(yaml({ a: { schema: { subgraph_url: 'http://127.0.0.1:1/' } }, b: { routing_url: 'http://b/' } }))
    expect(message.split('\n')).toHaveLength(2)
  })

  test('an address without a server is reported', async () => {
    expect(await sentenceOf(yaml({ videos: { schema: { subgraph_url: 'http://127.0.0.1:1/' } } }))).toMatch(
      /the subgraph "videos" at http:\/\/127\.0\.0\.1:1\/ cannot be reached \(.+\): start it, or correct its address/,
    )
  })

  test.each([
    ['never answers', () => {}, /cannot be reached \(no answer in 300 ms\)/],
    ['answers HTML', (_: unknown, response: any) => response.writeHead(502).end('<html>'), /answers with HTTP 502 but without JSON/],
    ['answers JSON that is not a result', (_: unknown, response: any) => response.end('[1]'), /JSON that is not a GraphQL result/],
    [
      'knows no _service',
      (_: unknown, response: any) => response.end('{"errors":[{"message":"Cannot query field \\"_service\\""}]}'),
      /is not a federation subgraph \(Cannot query field "_service"\)/,
    ],
    [
      'sends without end',
      (_: unknown, response: any) => {
        const timer = setInterval(() => response.write('x'.repeat(65_536)), 1)
        response.on('close', () => clearInterval(timer))
      },
      /cannot be reached \((?:no answer in 300 ms|its answer has more than)/,
    ],
  ])('a partner that %s is reported', async (_, answer, sentence) => {
    const partner = await begin()
    partner.answer(answer)
    const startedAt = performance.now()
    expect(await sentenceOf(yaml({ videos: { schema: { subgraph_url: partner.url } } }))).toMatch(sentence)
    expect(performance.now() - startedAt).toBeLessThan(3_000)
  })

  test('a failed composition is reported with the reasons and the suspects', async () => {
    const good = { routing_url: 'http://v/', schema: { sdl: VIDEOS } }
    const bad = {
      routing_url: 'http://b/',
      schema: { sdl: `${LINK} type Query { rating: Progress } type Progress { position: Int! stars: Int }` },
    }
    const message = await sentenceOf(yaml({ videos: good, ratings: bad }))
    expect(message).toContain('the subgraphs history, videos, ratings do not compose:')
    expect(message).toContain('Non-shareable field "Progress.position" is resolved from multiple subgraphs')
    expect(message).toContain('without "ratings" the others compose')
    expect(message).not.toContain('without "videos"')
    expect(message).not.toContain('without "history"')
    expect(message).toContain('"ratings" defines the type Progress, which "history" also defines')
  })

  test('a composed supergraph that needs a removed field of ours is refused', async () => {
    const older = { ...HISTORY, sdl: HISTORY.sdl.replace('position: Int!', 'position: Int! speed: Int') }
    expect(await sentenceOf(write('old.graphql', composeSupergraph([older])))).toMatch(
      /takes Progress\.speed from "history", which has no such field/,
    )
  })

  test('a composed supergraph without an address for a partner is refused', async () => {
    const composed = composeSupergraph([HISTORY, { name: 'videos', sdl: VIDEOS }])
    expect(await sentenceOf(write('no-url.graphql', composed))).toMatch(/gives no address for the subgraph "videos"/)
  })
})
