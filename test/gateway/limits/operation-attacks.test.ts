/** Attacks by operations, on the real engine behind the real doors. Each test prints the time and the memory that it took. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Registry } from '@prometheus-io/client'
import { buildSubgraphSchema } from '@apollo/subgraph'
import { getIntrospectionQuery, parse } from 'graphql'
import { pino } from 'pino'
import { makeConfig } from '../../../config/config.ts'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { makeJudge } from '../../../gateway/limits/judge.ts'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { makeServer, type GatewayServer } from '../../../gateway/doors/server.ts'
import { localTransport } from '../../../gateway/transports/local-transport.ts'
import { makeIdentify } from '../../../gateway/identity/identify.ts'
import { historySdl } from '../../../subgraphs/history/schema.ts'
import type { GraphQLAnswer } from '../../support/front-schema.ts'

const PARTNER = `type Query { a: Int node(id: ID): Node nodes(first: Int = 10): [Node] }
  type Node { id: ID node: Node nodes(first: Int = 10): [Node] any(value: Any): Int } scalar Any`

let resolved = 0
const node = () => (resolved += 1) && { id: '1' }

async function start(settings: object = {}): Promise<GatewayServer & { url: string }> {
  const config = makeConfig([{ name: 'test', values: { server: settings } }])
  const history = historySdl(config.businesses)
  const schemas = {
    history: buildSubgraphSchema([{ typeDefs: parse(history) }]),
    partner: buildSubgraphSchema([
      { typeDefs: parse(PARTNER), resolvers: { Query: { node, nodes: () => [node()] }, Node: { node, nodes: () => [node()] } } as never },
    ]),
  }
  const engine = makeEngine(
    composeSupergraph([
      { name: 'history', sdl: history },
      { name: 'partner', sdl: PARTNER },
    ]),
    Object.entries(schemas).map(([name, schema]) => ({ name, transport: localTransport(schema) })),
    {
      tokensMax: config.server.operationTokensMax,
      judge: makeJudge(config.server),
      introspection: config.server.introspection,
    },
  )
  const server = makeServer(
    engine,
    { ...config.server, host: '127.0.0.1', port: 0 },
    {
      identify: makeIdentify({}, 'development'),
      makeContext: (viewer) => ({ viewer }),
      ready: async () => ({ ok: true, stores: {} }),
      log: pino({ level: 'silent' }),
      registry: new Registry(),
      operationCostMax: config.server.operationCostMax,
    },
  )
  return { ...server, ...(await server.listen()) }
}

const range = (count: number, of: (index: number) => string) => Array.from({ length: count }, (_, index) => of(index)).join(' ')
const nested = (levels: number, open = '{ node ') => `${open.repeat(levels)}{ id }${' }'.repeat(levels)}`

const FIELDS_OF_FIELDS = 'fields { description type { fields { description } ofType { fields { description } } } }'

type Attack = { name: string; query: string; variables?: Record<string, unknown>; code: string; message?: string }

const ATTACKS: Attack[] = [
  { name: 'deep: 500 levels', query: nested(500), code: 'OPERATION_TOO_LARGE', message: 'selects 501 levels: select at most 15' },
  {
    name: 'deep: 1600 inline fragments',
    query: `{ ${'... { '.repeat(1_600)} a ${'}'.repeat(1_600)} }`,
    code: 'OPERATION_TOO_LARGE',
    message: 'nest at most 40',
  },
  {
    name: 'deep: a chain of 400 fragments',
    query: `{ ...F0 } ${range(400, (i) => `fragment F${i} on Query { ${i < 399 ? `...F${i + 1}` : 'a'} }`)}`,
    code: 'OPERATION_TOO_LARGE',
  },
  {
    name: 'deep: a literal of 500 lists',
    query: `{ node { any(value: ${'['.repeat(500)}1${']'.repeat(500)}) } }`,
    code: 'OPERATION_TOO_LARGE',
    message: 'literal of 500 levels',
  },
  {
    name: 'long: a list of 6,000 literals',
    query: `{ a(ids: [${range(6_000, (i) => `${i}`)}]) }`,
    code: 'OPERATION_TOO_LARGE',
    message: 'has more than 5000 tokens: send ids, inputs and other values as variables',
  },
  { name: 'deep: 20,000 braces', query: '{a'.repeat(20_000), code: 'OPERATION_TOO_LARGE' },
  { name: 'wide: 2,000 fields', query: `{ ${range(2_000, () => 'a')} }`, code: 'OPERATION_TOO_LARGE', message: '2000 fields' },
  { name: 'wide: 200,000 fields', query: `{ ${'a '.repeat(200_000)} }`, code: 'OPERATION_TOO_LARGE' },
  {
    name: 'aliased: one field 1,000 times',
    query: `{ ${range(1_000, (i) => `a${i}: a`)} }`,
    code: 'OPERATION_TOO_LARGE',
    message: '1000 aliases',
  },
  {
    name: 'recursive fragments',
    query: '{ node { ...A } } fragment A on Node { node { ...B } } fragment B on Node { node { ...A } }',
    code: 'OPERATION_TOO_LARGE',
  },
  {
    name: 'fragments that double 300 times',
    query: `{ node { ...F0 } } ${range(300, (i) => `fragment F${i} on Node { ${i < 299 ? `...F${i + 1} ...F${i + 1}` : 'id'} }`)}`,
    code: 'OPERATION_TOO_LARGE',
    message: 'infinitely many',
  },
  {
    name: 'overlapping: 400 fragments with the same field',
    query: `{ ${range(400, (i) => `...F${i}`)} } ${range(400, (i) => `fragment F${i} on Query { node { id } }`)}`,
    code: 'OPERATION_TOO_LARGE',
  },
  {
    name: 'overlapping: 400 fields of one name and other arguments',
    query: `{ ${range(400, (i) => `node(id: ${i}) { id }`)} }`,
    code: 'OPERATION_TOO_LARGE',
  },
  { name: 'directives: 2,400 unknown ones', query: `{ a ${'@x'.repeat(2_400)} }`, code: 'GRAPHQL_VALIDATION_FAILED' },
  { name: 'directives: 700 @skip on one field', query: `{ a ${'@skip(if: false) '.repeat(700)} }`, code: 'GRAPHQL_VALIDATION_FAILED' },
  { name: 'variables: 1,200 declared', query: `query Q(${range(1_200, (i) => `$v${i}: Int`)}) { a }`, code: 'GRAPHQL_VALIDATION_FAILED' },
  {
    name: 'introspection: lists of lists',
    query: `{ __schema { types { ${'fields { type { '.repeat(4)} name ${'} }'.repeat(4)} } } }`,
    code: 'GRAPHQL_VALIDATION_FAILED',
  },
  {
    name: 'introspection: 25 levels',
    query: `{ __type(name: "Query") ${'{ ofType '.repeat(25)}{ name }${' }'.repeat(25)} }`,
    code: 'OPERATION_TOO_LARGE',
  },
  {
    name: 'introspection: all fields of all fields, 100 times',
    query: `{ ${range(100, (i) => `a${i}: __schema { types { ${FIELDS_OF_FIELDS} } }`)} }`,
    code: 'OPERATION_TOO_COSTLY',
    message:
      'costs more than can be counted with these variables: at most 10000 are allowed; ask for shorter lists or for less of the schema',
  },
  {
    name: 'introspection: all fields of all fields, 99 times in one schema',
    query: `{ __schema { ${range(99, (i) => `a${i}: types { ${FIELDS_OF_FIELDS} }`)} } }`,
    code: 'OPERATION_TOO_COSTLY',
    message:
      'costs more than can be counted with these variables: at most 10000 are allowed; ask for shorter lists or for less of the schema',
  },
  {
    name: 'lists of lists by literals',
    query: '{ nodes(first: 1000) { nodes(first: 1000) { id } } }',
    code: 'OPERATION_TOO_COSTLY',
    message: 'costs 1001000 with these variables: at most 10000',
  },
  {
    name: 'lists of lists by one variable',
    query: 'query Q($n: Int) { nodes(first: $n) { nodes(first: $n) { nodes(first: $n) { id } } } }',
    variables: { n: 2_000_000_000 },
    code: 'OPERATION_TOO_COSTLY',
  },
  {
    name: 'lists: 20,000 ids',
    query: 'query Q($ids: [ID!]!) { subjects(business: "video", ids: $ids) { id } }',
    variables: { ids: Array.from({ length: 20_000 }, String) },
    code: 'OPERATION_TOO_COSTLY',
  },
  {
    name: 'batches: 10 mutations of 500 inputs',
    query: `mutation Q($input: ReportProgressBatchInput!) { ${range(10, (i) => `m${i}: reportProgressBatch(input: $input) { results { outcome progress { id } } }`)} }`,
    variables: { input: { reports: Array.from({ length: 500 }, () => ({ business: 'video', id: '1', position: 1 })) } },
    code: 'OPERATION_TOO_COSTLY',
  },
  {
    name: 'batches: 11 mutations',
    query: `mutation { ${range(11, (i) => `m${i}: updateHistorySettings(input: { paused: true }) { settings { paused } }`)} }`,
    code: 'OPERATION_TOO_LARGE',
    message: 'more than 10 mutations',
  },
]

describe('attacks', () => {
  let server: Awaited<ReturnType<typeof start>>
  beforeAll(async () => {
    server = await start()
    await send('{ a }')
  })
  afterAll(() => server.close())

  async function send(query: string, variables?: Record<string, unknown>): Promise<{ status: number; json: GraphQLAnswer; text: string }> {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/graphql-response+json' },
      body: JSON.stringify({ query, variables }),
    })
    const text = await response.text()
    return { status: response.status, json: JSON.parse(text) as GraphQLAnswer, text }
  }

  it.each(ATTACKS)('$name is refused with a code, in time, and no resolver runs', async ({ name, query, variables, code, message }) => {
    resolved = 0
    const before = process.memoryUsage().rss
    const startedAt = performance.now()
    const { status, json, text } = await send(query, variables)
    const tookMs = performance.now() - startedAt
    const grewMb = Math.max(0, (process.memoryUsage().rss - before) / 1_048_576)
    console.log(
      `${name}: ${code}, ${tookMs.toFixed(0)} ms, ${grewMb.toFixed(0)} MB, request ${query.length} bytes, answer ${text.length} bytes`,
    )
    expect(json.errors?.[0]?.extensions?.['code']).toBe(code)
    if (message !== undefined) expect(json.errors?.[0]?.message).toContain(message)
    expect([status, json.data, resolved]).toEqual([400, undefined, 0])
    expect(tookMs).toBeLessThan(5_000)
    expect(grewMb).toBeLessThan(150)
    expect(text.length).toBeLessThan(100_000)
    expect((await send('{ a }')).status).toBe(200)
  })

  it('an array of operations is refused', async () => {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(Array.from({ length: 1_000 }, () => ({ query: '{ nodes(first: 1000) { id } }' }))),
    })
    expect([response.status, ((await response.json()) as GraphQLAnswer).errors?.[0]?.extensions?.['code']]).toEqual([400, 'BAD_REQUEST'])
  })

  it('the cost is computed per request: the same operation passes with other variables, and the error names cost and limit', async () => {
    const query = 'query Q($n: Int) { nodes(first: $n) { id } }'
    expect((await send(query, { n: 10 })).json.errors).toBeUndefined()
    const refused = await send(query, { n: 10_001 })
    expect(refused.json.errors).toEqual([
      {
        message: 'operation Q costs 10001 with these variables: at most 10000 are allowed; ask for shorter lists, or split it',
        extensions: { code: 'OPERATION_TOO_COSTLY', cost: 10_001, costMax: 10_000 },
      },
    ])
    const stream = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query, variables: { n: 10_001 } }),
    })
    expect(await stream.text()).toContain('OPERATION_TOO_COSTLY')
  })

  it('introspection of GraphiQL passes', async () => {
    expect((await send(getIntrospectionQuery())).json.errors).toBeUndefined()
    const options = { specifiedByUrl: true, directiveIsRepeatable: true, schemaDescription: true, inputValueDeprecation: true, oneOf: true }
    expect((await send(getIntrospectionQuery({ ...options, experimentalDirectiveDeprecation: true }))).json.errors).toBeUndefined()
  })
})

it('without introspection, the schema cannot be read by introspection or by suggestions', async () => {
  const server = await start({ introspection: false })
  const ask = async (query: string) => {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    })
    return (await response.json()) as GraphQLAnswer
  }
  for (const query of [
    getIntrospectionQuery(),
    '{ __type(name: "Node") { name } }',
    '{ a ...F } fragment F on Query { x: __schema { queryType { name } } }',
  ]) {
    const { data, errors } = await ask(query)
    expect(data).toBeUndefined()
    expect(errors?.[0]).toMatchObject({
      message: expect.stringContaining('introspection is off'),
      extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
    })
  }
  expect(JSON.stringify(await ask('{ nod { id } }'))).not.toContain('node')
  expect(await ask('{ __typename a }')).toEqual({ data: { __typename: 'Query', a: null } })
  await server.close()
})
