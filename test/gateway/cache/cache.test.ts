/** The cache headers of answers to GET, from @cacheControl of the subgraphs to the response. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { GraphQLError, buildSchema, type GraphQLSchema } from 'graphql'
import { SignJWT } from 'jose'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { makeEngine, type Engine } from '../../../gateway/operation/engine.ts'
import { localTransport } from '../../../gateway/transports/local-transport.ts'
import { startServer, type TestServer } from '../../support/front-schema.ts'
import { apollo, makeManifestFolder, sha } from '../../../harness/samples/manifests.ts'

const SECRET = 'a secret of at least thirty-two bytes'
const DIRECTIVE = `
  enum CacheControlScope { PUBLIC PRIVATE }
  directive @cacheControl(maxAge: Int, scope: CacheControlScope, inheritMaxAge: Boolean) on FIELD_DEFINITION | OBJECT | INTERFACE | UNION
`
/** A public catalogue of a partner, and the data of one viewer on the same types. */
const CATALOGUE = `
  extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key", "@shareable"])
  type Query {
    video(id: ID!): Video @cacheControl(maxAge: 600, scope: PUBLIC)
    plain(id: ID!): Video
    mine: Video @cacheControl(maxAge: 30)
    thing: Thing @cacheControl(maxAge: 600, scope: PUBLIC)
    broken: String @cacheControl(maxAge: 600, scope: PUBLIC)
    now: String @cacheControl(maxAge: 0, scope: PUBLIC)
    title: String
  }
  type Mutation { touch: String @cacheControl(maxAge: 600, scope: PUBLIC) }
  interface Thing { id: ID! name: String }
  type Video implements Thing @key(fields: "id") @cacheControl(maxAge: 300, scope: PUBLIC) {
    id: ID!
    name: String
    title: String
    views: Int @cacheControl(maxAge: 5, scope: PUBLIC)
    author: User @cacheControl(inheritMaxAge: true, scope: PUBLIC)
    secret: String @cacheControl(maxAge: 60, scope: PRIVATE)
    related: [Video] @cacheControl(maxAge: 120, scope: PUBLIC)
    next: Video
  }
  type User implements Thing { id: ID! @cacheControl(maxAge: 60, scope: PUBLIC) name: String }
`
const HISTORY = `
  extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key"])
  type Query { history: [Video] }
  type Video @key(fields: "id") { id: ID! watched: Boolean progress: Progress }
  type Progress { position: Int }
`

function schemaOf(sdl: string): GraphQLSchema {
  const plain = sdl.replace(/extend schema.*\n/, '').replace(/ @key\(fields: "id"\)/g, '')
  const schema = buildSchema(`${plain.includes('directive @cacheControl') ? '' : DIRECTIVE}${plain}`)
  return schema
}

function makeCachedEngine(): Engine {
  const catalogue = schemaOf(CATALOGUE)
  const video = {
    __typename: 'Video',
    id: '1',
    name: 'n',
    title: 't',
    views: 1,
    author: { id: '2', name: 'a' },
    secret: 's',
    related: [],
    next: null,
  }
  const fields = catalogue.getQueryType()?.getFields() ?? {}
  for (const name of ['video', 'plain', 'mine', 'thing']) if (fields[name] !== undefined) fields[name].resolve = () => video
  if (fields['broken'] !== undefined)
    fields['broken'].resolve = () => {
      throw new GraphQLError('no', { extensions: { code: 'NO' } })
    }
  const supergraph = composeSupergraph([
    { name: 'catalogue', sdl: CATALOGUE },
    { name: 'history', sdl: HISTORY },
  ])
  const subgraphs = [
    { name: 'catalogue', transport: localTransport(catalogue) },
    { name: 'history', transport: localTransport(schemaOf(HISTORY)) },
  ]
  return makeEngine(supergraph, subgraphs, { tokensMax: 1_000 })
}

let server: TestServer
beforeAll(async () => {
  server = await startServer({ engine: makeCachedEngine(), auth: { secret: SECRET } })
})
afterAll(() => server.close())

async function controlOf(query: string, headers: Record<string, string> = {}): Promise<string | null> {
  const response = await fetch(`${server.url}/graphql?${String(new URLSearchParams({ query }))}`, { headers })
  await response.text()
  return response.headers.get('cache-control')
}

describe('an answer is public', () => {
  it.each([
    ['{ video(id: 1) { title } }', 'public, max-age=300'],
    ['{ video(id: 1) { id title name __typename } }', 'public, max-age=300'],
    ['{ video(id: 1) { title views } }', 'public, max-age=5'],
    ['{ video(id: 1) { related { related { title } } } }', 'public, max-age=120'],
    ['{ video(id: 1) { author { id } } }', 'public, max-age=60'],
    ['{ a: video(id: 1) { ...F } } fragment F on Video { title related { ...G } } fragment G on Video { title }', 'public, max-age=120'],
    ['{ thing { id } }', 'public, max-age=60'],
    ['{ __typename }', 'public, max-age=31536000'],
  ])('an answer is public if every field of %s allows it', async (query, control) => {
    expect(await controlOf(query)).toBe(control)
  })
})

describe('an answer is not public', () => {
  it.each([
    ['a field without a hint', '{ video(id: 1) { title } plain(id: 1) { title } }', 'no-store'],
    ['a root field without a hint that returns a public type', '{ plain(id: 1) { title } }', 'no-store'],
    ['a field without a hint on a public type', '{ video(id: 1) { next { title } } }', 'no-store'],
    ['a field that another subgraph adds to a public type', '{ video(id: 1) { title watched } }', 'no-store'],
    ['a type that another subgraph adds to a public type', '{ video(id: 1) { progress { position } } }', 'no-store'],
    ['one type of an interface without a hint', '{ thing { name } }', 'no-store'],
    ['a leaf at the root', '{ title }', 'no-store'],
    ['a field that may not be kept', '{ now }', 'no-store'],
    [
      'one deep in a fragment',
      '{ video(id: 1) { ...F } } fragment F on Video { related { ...G } } fragment G on Video { watched }',
      'no-store',
    ],
    ['one that a condition excludes', '{ video(id: 1) { title watched @include(if: false) } }', 'no-store'],
    ['introspection', '{ __schema { queryType { name } } }', 'no-store'],
    ['a field that failed', '{ broken }', 'no-store'],
    ['an invalid document', '{ nothing }', 'no-store'],
    ['a mutation by GET', 'mutation { touch }', 'no-store'],
    ['a field with only a maxAge', '{ mine { title } }', 'private, max-age=30'],
    ['a private field', '{ video(id: 1) { secret title } }', 'private, max-age=60'],
  ])('an answer is not public with %s', async (_name, query, control) => {
    expect(await controlOf(query)).toBe(control)
  })

  it('an answer to an identified caller is private and asked for again, even if the schema says that it is public', async () => {
    const token = await new SignJWT({ sub: '7', exp: Math.floor(Date.now() / 1_000) + 60 })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(Buffer.from(SECRET))
    const named: Record<string, string>[] = [{ authorization: `Bearer ${token}` }, { 'x-viewer-id': '7' }, { cookie: 'session=1' }]
    for (const headers of named) expect(await controlOf('{ video(id: 1) { title } }', headers)).toBe('private, no-cache')
    expect(await controlOf('{ video(id: 1) { title } }', { authorization: 'Bearer a.b.c' })).toBe('no-store')
  })

  it('an answer is private and asked for again if headers are forwarded to subgraphs, for public and private hints', async () => {
    const own = await startServer({ engine: makeCachedEngine(), more: { forwardHeaders: ['x-tenant'] } })
    for (const query of ['{ video(id: 1) { title } }', '{ mine { title } }', '{ video(id: 1) { secret title } }'])
      for (const headers of [{}, { 'x-tenant': 'a' }] as Record<string, string>[]) {
        const response = await fetch(`${own.url}/graphql?query=${encodeURIComponent(query)}`, { headers })
        expect(response.headers.get('cache-control'), query).toBe('private, no-cache')
      }
    await own.close()
  })

  it('an answer to POST has no cache header', async () => {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"query":"{ video(id: 1) { title } }"}',
    })
    expect([await response.json(), response.headers.get('cache-control')]).toEqual([{ data: { video: { title: 't' } } }, null])
  })

  it('an answer to a request that is refused early is not kept', async () => {
    for (const [path, headers] of [
      ['/graphql', {}],
      ['/graphql?query={x', {}],
      ['/graphql?query=%ff', {}],
      ['/graphql?query={title}', { accept: 'text/csv' }],
    ] as const)
      expect((await fetch(`${server.url}${path}`, { headers })).headers.get('cache-control'), path).toBe('no-store')
  })
})

describe('vary', () => {
  const varyOf = async ({ url }: TestServer, path: string) => (await fetch(`${url}${path}`)).headers.get('vary')
  const path = `/graphql?query=${encodeURIComponent('{ video(id: 1) { title } }')}`

  it('vary names the headers that the answer may depend on, so that caches separate viewers and media types', async () => {
    expect(await varyOf(server, path)).toBe('Origin, accept, authorization, cookie, x-viewer-id, x-viewer-scopes, x-on-behalf-of')
  })

  it('vary names the client header if ids depend on the client', async () => {
    const files = makeManifestFolder()
    const body = '{ video(id: 1) { title } }'
    const manifests = [
      files.write('m.json', apollo({ id: '1', body, clientName: 'ios' }, { id: '1', body: '{ title }', clientName: 'web' }, { body })),
    ]
    const own = await startServer({ engine: makeCachedEngine(), persisted: { mode: 'enforce', manifests } })
    expect(await varyOf(own, `/graphql/p/${sha(body)}`)).toContain('x-client-name')
    const ofClient = (name: string) => fetch(`${own.url}/graphql/p/1`, { headers: { 'x-client-name': name } })
    expect((await ofClient('ios')).headers.get('cache-control')).toBe('public, max-age=300')
    expect((await ofClient('web')).headers.get('cache-control')).toBe('no-store')
    await own.close()
    files.remove()
  })
})

describe('@cacheControl', () => {
  it('@cacheControl needs no definition, and clients do not see it', () => {
    const supergraph = composeSupergraph([{ name: 'catalogue', sdl: CATALOGUE }])
    expect(composeSupergraph([{ name: 'catalogue', sdl: `${CATALOGUE}${DIRECTIVE}` }])).toBe(supergraph)
    expect(supergraph).toMatch(/views: Int @cacheControl\(maxAge: 5, scope: "PUBLIC"\)/)
    const { schema } = makeCachedEngine()
    expect([schema.getDirective('cacheControl'), schema.getType('CacheControlScope')]).toEqual([undefined, undefined])
  })

  it('a supergraph without cache hints is unchanged', () => {
    expect(composeSupergraph([{ name: 'history', sdl: HISTORY }])).not.toContain('cacheControl')
  })

  it('the stricter hint of two subgraphs that share a field counts', () => {
    const sharing = (control: string) => `
      extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@shareable"])
      type Query { shared: String @shareable ${control} }`
    const composed = (a: string, b: string) =>
      composeSupergraph([
        { name: 'a', sdl: sharing(a) },
        { name: 'b', sdl: sharing(b) },
      ])
    expect(composed('@cacheControl(maxAge: 9, scope: PUBLIC)', '@cacheControl(maxAge: 5)')).toContain(
      '@cacheControl(maxAge: 5, scope: "PRIVATE")',
    )
    expect(composed('@cacheControl(maxAge: 9, scope: PUBLIC)', '')).toContain('@cacheControl(maxAge: 9, scope: "PUBLIC")')
  })

  it('a hint that the subgraph composes itself has the same effect', () => {
    const link =
      'extend schema @link(url: "https://example.com/cacheControl/v1.0", import: ["@cacheControl"]) @composeDirective(name: "@cacheControl")\n'
    const sdl = `${link}${CATALOGUE.replace('"@shareable"', '"@shareable", "@composeDirective"')}${DIRECTIVE}`
    expect(composeSupergraph([{ name: 'catalogue', sdl }])).toBe(composeSupergraph([{ name: 'catalogue', sdl: CATALOGUE }]))
  })
})
