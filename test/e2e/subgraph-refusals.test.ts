/**
 * One table of bad requests, sent to a gateway and to each subgraph that runs alone, as processes. Each subgraph refuses with the same
 * status and code as the gateway.
 */
import { gzipSync } from 'node:zlib'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const GRAPHQL_TYPE = { ...JSON_TYPE, accept: 'application/graphql-response+json' }
const OK = JSON.stringify({ query: '{ __typename }' })

type Bad = { name: string; method?: string; path?: string; headers?: Record<string, string | string[]>; body?: string | Buffer }

const text = (query: string, variables?: unknown): string => JSON.stringify({ query, variables })
const many = (count: number, of: (index: number) => string): string => Array.from({ length: count }, (_, index) => of(index)).join(' ')

const TABLE: Bad[] = [
  { name: 'no body', headers: JSON_TYPE },
  { name: 'half a body', headers: JSON_TYPE, body: '{"query":' },
  { name: 'a body that is a text', headers: JSON_TYPE, body: '"{ __typename }"' },
  { name: 'a batch', headers: JSON_TYPE, body: `[${OK},${OK}]` },
  { name: 'an empty batch', headers: JSON_TYPE, body: '[]' },
  { name: 'no query', headers: JSON_TYPE, body: '{}' },
  { name: 'a query that is a number', headers: JSON_TYPE, body: '{"query":5}' },
  { name: 'variables that are a list', headers: JSON_TYPE, body: '{"query":"{ __typename }","variables":[]}' },
  { name: 'extensions that are a text', headers: JSON_TYPE, body: '{"query":"{ __typename }","extensions":"x"}' },
  { name: 'a body of XML', headers: { 'content-type': 'application/xml' }, body: '<query/>' },
  { name: 'a form', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'query=%7B__typename%7D' },
  { name: 'plain text', headers: { 'content-type': 'text/plain' }, body: OK },
  { name: 'no content type', body: OK },
  { name: 'another charset', headers: { 'content-type': 'application/json; charset=utf-16' }, body: OK },
  { name: 'bytes that are no UTF-8', headers: JSON_TYPE, body: Buffer.from([0x7b, 0xff, 0xfe, 0x7d]) },
  { name: 'a compressed body', headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: gzipSync(OK) },
  { name: 'a compressed body that is none', headers: { ...JSON_TYPE, 'content-encoding': 'br' }, body: 'x' },
  { name: 'a body of 2 MB', headers: JSON_TYPE, body: text(`{ __typename ${' '.repeat(2_000_000)} }`) },
  { name: 'a body of brackets', headers: JSON_TYPE, body: '['.repeat(500_000) },
  { name: 'an unsupported media type', headers: { ...JSON_TYPE, accept: 'text/csv' }, body: OK },
  {
    name: 'GET of a mutation',
    method: 'GET',
    path: `/graphql?query=${encodeURIComponent('mutation { nothing }')}`,
    headers: { accept: 'application/graphql-response+json' },
  },
  { name: 'GET without a query', method: 'GET', path: '/graphql' },
  { name: 'GET with variables that are no JSON', method: 'GET', path: '/graphql?query=%7B__typename%7D&variables=x' },
  { name: 'GET of a URL that is no UTF-8', method: 'GET', path: '/graphql?query=%ff' },
  { name: 'PUT', method: 'PUT', headers: JSON_TYPE, body: OK },
  { name: 'DELETE', method: 'DELETE' },
  { name: 'a path that is not there', path: '/nowhere', headers: JSON_TYPE, body: OK },
  { name: 'no GraphQL', headers: GRAPHQL_TYPE, body: text('{') },
  { name: 'a field that is not there', headers: GRAPHQL_TYPE, body: text('{ nothingOfThatName }') },
  { name: 'the same for clients of application/json', headers: JSON_TYPE, body: text('{ nothingOfThatName }') },
  {
    name: 'an operation that is not there',
    headers: GRAPHQL_TYPE,
    body: JSON.stringify({ query: '{ __typename }', operationName: 'Other' }),
  },
  { name: 'two operations without a name', headers: GRAPHQL_TYPE, body: text('query A { __typename } query B { __typename }') },
  { name: 'a variable that is not given', headers: GRAPHQL_TYPE, body: text('query ($a: Boolean!) { __typename @include(if: $a) }') },
  {
    name: 'a variable of a wrong type',
    headers: GRAPHQL_TYPE,
    body: text('query ($a: Boolean!) { __typename @include(if: $a) }', { a: 'x' }),
  },
  { name: 'too many tokens', headers: GRAPHQL_TYPE, body: text(`{ ${many(5_100, () => '__typename')} }`) },
  { name: '740 KB of fields', headers: GRAPHQL_TYPE, body: text(`{ ${many(60_000, () => '__typename')} }`) },
  { name: 'too many aliases', headers: GRAPHQL_TYPE, body: text(`{ ${many(101, (index) => `a${index}: __typename`)} }`) },
  {
    name: 'too many levels, of fields that are not there',
    headers: GRAPHQL_TYPE,
    body: text(`{ ${'a { '.repeat(30)} b ${'} '.repeat(30)} }`),
  },
  {
    name: 'fragments that spread each other',
    headers: GRAPHQL_TYPE,
    body: text('{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }'),
  },
  { name: 'a literal of many levels', headers: GRAPHQL_TYPE, body: text(`{ a(b: ${'['.repeat(100)}1${']'.repeat(100)}) }`) },
  { name: 'many unknown directives', headers: GRAPHQL_TYPE, body: text(`{ __typename ${many(1_000, (index) => `@d${index}`)} }`) },
  {
    name: 'introspection that goes deep',
    headers: GRAPHQL_TYPE,
    body: text(`{ __schema { types { ${'fields { type { '.repeat(12)} name ${'} } '.repeat(12)} } } }`),
  },
  {
    name: 'an unknown id of an operation',
    headers: GRAPHQL_TYPE,
    body: JSON.stringify({ extensions: { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } } }),
  },
  {
    name: 'an id of another text',
    headers: GRAPHQL_TYPE,
    body: JSON.stringify({ query: '{ __typename }', extensions: { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } } }),
  },
  { name: 'a token that is none', headers: { ...GRAPHQL_TYPE, authorization: 'Bearer x' }, body: OK },
  { name: 'an authorization that is none', headers: { ...GRAPHQL_TYPE, authorization: 'Basic eDp4' }, body: OK },
  { name: 'acting for a viewer without a token', headers: { ...GRAPHQL_TYPE, 'x-on-behalf-of': '7' }, body: OK },
  { name: 'a viewer id that is too long', headers: { ...GRAPHQL_TYPE, 'x-viewer-id': 'x'.repeat(100) }, body: OK },
  { name: 'headers of 20 KB', headers: { ...JSON_TYPE, 'x-padding': 'x'.repeat(20_000) }, body: OK },
]

type Refusal = { status: number; code: string | undefined; contentType: string | undefined }

async function send({ url }: Service, { method = 'POST', path = '/graphql', headers = {}, body }: Bad): Promise<Refusal> {
  const answer = await request(new URL(path, url), { method: method as 'POST', headers, body: body ?? null })
  const { errors } = JSON.parse(await answer.body.text()) as { errors?: { extensions?: { code?: string } }[] }
  return { status: answer.statusCode, code: errors?.[0]?.extensions?.code, contentType: answer.headers['content-type'] as string }
}

const SUBGRAPHS = ['history', 'thumbup', 'feed-existence']

describe('bad requests', () => {
  const folders = ['start', ...SUBGRAPHS].map(makeServiceFolder)
  let gateway: Service
  let subgraphs: Service[]
  beforeAll(async () => {
    const commands = [['start'], ...SUBGRAPHS.map((name) => ['subgraph', name])]
    const services = await Promise.all(
      commands.map((command, index) => startService({ folder: folders[index]?.folder as string, command })),
    )
    gateway = services[0] as Service
    subgraphs = services.slice(1)
  }, 180_000)
  afterAll(async () => {
    await Promise.all([gateway, ...subgraphs].map((service) => service.kill()))
    for (const { remove } of folders) remove()
  })

  it.each(TABLE)('$name: the gateway and each subgraph alone refuse it alike', async (bad) => {
    const expected = await send(gateway, bad)
    expect(expected.status).toBeLessThan(500)
    expect(expected.code).toBeDefined()
    for (const subgraph of subgraphs) expect(await send(subgraph, bad)).toEqual(expected)
  })

  it('they leave at most one line each in the log of a subgraph', () => {
    for (const subgraph of subgraphs) {
      expect(subgraph.log()).not.toContain('at ')
      expect(subgraph.log().length).toBeLessThan(1_000)
    }
  })

  it('a subgraph alone opens no WebSocket, and answers / as /graphql', async () => {
    for (const subgraph of subgraphs) {
      const upgrade = {
        connection: 'upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'x3JJHMbDL1EzLkh9GBhXDw==',
      }
      const answer = await request(new URL('/graphql', subgraph.url), { method: 'GET', headers: upgrade }).catch(() => undefined)
      expect(answer?.statusCode).not.toBe(101)
      expect(await send(subgraph, { name: '', path: '/', headers: GRAPHQL_TYPE, body: text('{') })).toMatchObject({
        status: 400,
        code: 'GRAPHQL_PARSE_FAILED',
      })
    }
  })
})
