/** Ids beyond 2^53: exact as strings and as integers in the text, refused as JSON numbers, through every entry point. Other literals too. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { freePorts } from '../../harness/deployment/ports.ts'
import { makeRole, type Role } from '../../harness/deployment/role.ts'

const LARGE = '9007199254740993'
const folder = mkdtempSync(join(tmpdir(), 'tidemark-exact-ids-'))
let gateway: Role
let subgraph: Role

beforeAll(async () => {
  const [first = 0, second = 0] = await freePorts(2)
  const role = (name: string, command: readonly string[], port: number) =>
    makeRole({ name, command, port, folder: join(folder, name), settings: { stores: { data: join(folder, name, 'data') } } })
  gateway = role('start', ['start'], first)
  subgraph = role('subgraph', ['subgraph', 'history'], second)
  await Promise.all([gateway.start(), subgraph.start()])
})
afterAll(async () => {
  await Promise.all([gateway.kill(), subgraph.kill()])
  rmSync(folder, { recursive: true, force: true })
})

type Answer = { data?: Record<string, unknown> | null; errors?: { message: string; extensions?: Record<string, unknown> }[] }

/** `body` is the JSON on the wire, because JSON.stringify cannot write these numbers. */
async function post(role: Role, body: string, viewer = '7'): Promise<Answer & { status: number }> {
  const url = role === gateway ? gateway.url : new URL('/', subgraph.url).href
  const headers = { 'content-type': 'application/json', accept: 'application/graphql-response+json', 'x-viewer-id': viewer }
  const response = await fetch(url, { method: 'POST', headers, body })
  return { ...((await response.json()) as Answer), status: response.status }
}

const REPORT = 'mutation ($i: ReportProgressInput!) { reportProgress(input: $i) { outcome subject { id } } }'
const BATCH = 'mutation ($i: [ReportProgressInput!]!) { reportProgressBatch(input: { reports: $i }) { results { outcome } } }'
const LOOK = 'query ($ids: [ID!]!) { subjects(business: "video", ids: $ids) { id viewerProgress { position } } }'
const input = (id: string) => `{"business":"video","id":${id},"position":60000}`
const body = (query: string, variables: string) => `{"query":${JSON.stringify(query)},"variables":${variables}}`

const refused = (answer: Answer, place: string) => {
  expect(answer.data ?? undefined).toBeUndefined()
  expect(answer.errors).toMatchObject([{ extensions: { code: 'ID_INVALID' } }])
  expect(answer.errors?.[0]?.message).toContain(`${place} is the number`)
  expect(answer.errors?.[0]?.message).toContain('send ids as strings')
}

describe.each(['the gateway', 'the subgraph alone'])('a JSON number beyond 2^53 as an ID is refused by %s', (which) => {
  const role = () => (which === 'the gateway' ? gateway : subgraph)

  test.each([
    ['in an input object', REPORT, `{"i":${input(LARGE)}}`, '$i.id'],
    ['as a negative number', REPORT, `{"i":${input(`-${LARGE}`)}}`, '$i.id'],
    ['with an exponent', REPORT, `{"i":${input('1e20')}}`, '$i.id'],
    ['in a list of input objects', BATCH, `{"i":[${input('"1"')},${input(LARGE)}]}`, '$i[1].id'],
    ['in one input object for a list', BATCH, `{"i":${input(LARGE)}}`, '$i.id'],
    ['in a list', LOOK, `{"ids":["1",${LARGE}]}`, '$ids[1]'],
    ['as one value for a list', LOOK, `{"ids":${LARGE}}`, '$ids'],
  ])('%s', async (_, query, variables, place) => {
    const answer = await post(role(), body(query, variables))
    refused(answer, place)
    if (role() === gateway) expect(answer.status).toBe(400)
  })

  test('a refused batch writes nothing', async () => {
    await post(role(), body(BATCH, `{"i":[${input('"first"')},${input(LARGE)}]}`))
    expect(await post(role(), body(LOOK, '{"ids":["first","9007199254740992"]}'))).toMatchObject({
      data: { subjects: [{ viewerProgress: null }, { viewerProgress: null }] },
    })
  })

  test('smaller numbers, strings and integers in the text are exact', async () => {
    expect(await post(role(), body(REPORT, `{"i":${input('9007199254740991')}}`))).toMatchObject({
      data: { reportProgress: { subject: { id: '9007199254740991' } } },
    })
    expect(await post(role(), body(REPORT, `{"i":${input(`"${LARGE}"`)}}`))).toMatchObject({
      data: { reportProgress: { subject: { id: LARGE } } },
    })
    for (const id of [LARGE, '9223372036854775807', '9223372036854775808', '-9223372036854775809', '123456789012345678901234567890']) {
      const query = `mutation { reportProgress(input: {business: "video", id: ${id}, position: 60000}) { subject { id } } }`
      expect(await post(role(), body(query, '{}'))).toMatchObject({ data: { reportProgress: { subject: { id } } } })
      const withDefault = `query ($id: ID! = ${id}) { subjects(business: "video", ids: [$id]) { id viewerProgress { position } } }`
      expect(await post(role(), body(withDefault, '{}'))).toMatchObject({
        data: { subjects: [{ id, viewerProgress: { position: 60_000 } }] },
      })
    }
  })

  test('floats and exponents in the text are refused too', async () => {
    for (const id of ['1e20', '1.5']) {
      const answer = await post(role(), body(`{ subjects(business: "video", ids: [${id}]) { id } }`, '{}'))
      expect(answer.errors?.[0]?.extensions).toMatchObject({ code: 'GRAPHQL_VALIDATION_FAILED' })
    }
  })
})

describe.each(['the gateway', 'the subgraph alone'])('literals in the text, sent to %s', (which) => {
  const role = () => (which === 'the gateway' ? gateway : subgraph)

  test('a number that is no double is refused before anything runs', async () => {
    const before = 'mutation { reportProgress(input: {business: "video", id: "float", position: '
    const position = (literal: string) => post(role(), body(`${before}${literal}}) { outcome } }`, '{}'))
    for (const literal of ['1e999', '-1e999', '9'.repeat(400)]) {
      const answer = await position(literal)
      expect(answer).toMatchObject({ status: 400, errors: [{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }] })
      expect(answer.errors?.[0]?.extensions).not.toHaveProperty('retryable')
      expect(answer.errors?.[0]).toMatchObject({ locations: [{ line: 1, column: before.length + 1 }] })
    }
    expect(await position('1e3')).toMatchObject({ data: { reportProgress: { outcome: 'ACCEPTED' } } })
  })

  test('strings are the same as variables', async () => {
    const ids = ['a\bb', '\u3000第一\n\u3000第二', '\n \u00A0\u2028']
    const literals = ['"a\\bb"', '"""\u3000第一\n\u3000第二"""', '"\\n \u00A0\\u2028"']
    const answer = await post(role(), body(LOOK, JSON.stringify({ ids })))
    expect(await post(role(), body(LOOK.replace('ids: $ids', `ids: [${literals.join()}]`).replace(/query [^{]*/, ''), '{}'))).toEqual(
      answer,
    )
    expect(answer).toMatchObject({ data: { subjects: ids.map((id) => ({ id })) } })
  })
})

describe('other entry points of the gateway refuse it too', () => {
  test('GET', async () => {
    const search = new URLSearchParams({ query: LOOK, variables: `{"ids":[${LARGE}]}` })
    const response = await fetch(`${gateway.url}?${search.toString()}`, { headers: { 'x-viewer-id': '7' } })
    refused((await response.json()) as Answer, '$ids[0]')
  })

  test('server-sent events', async () => {
    const headers = { 'content-type': 'application/json', accept: 'text/event-stream', 'x-viewer-id': '7' }
    const response = await fetch(gateway.url, { method: 'POST', headers, body: body(LOOK, `{"ids":[${LARGE}]}`) })
    const [, data = '{}'] = /^data: (.*)$/m.exec(await response.text()) ?? []
    refused(JSON.parse(data) as Answer, '$ids[0]')
  })

  test('WebSocket, for a query and for a subscription', async () => {
    const socket = new WebSocket(gateway.url.replace('http', 'ws'), 'graphql-transport-ws')
    type Message = { id?: string; type: string; payload: Answer & Answer['errors'] }
    const messageOf = (id: string | undefined) =>
      new Promise<Message>((resolve) =>
        socket.on('message', (data: Buffer) => {
          const message = JSON.parse(data.toString()) as Message
          if (message.id === id) resolve(message)
        }),
      )
    await new Promise((resolve) => socket.once('open', resolve))
    socket.send('{"type":"connection_init","payload":{"viewerId":"7"}}')
    await messageOf(undefined)
    for (const [id, query] of [
      ['1', LOOK],
      ['2', 'subscription ($ids: [ID!]!) { countsChanged(business: "video", ids: $ids) { subjects { id } } }'],
    ] as const) {
      const answered = messageOf(id)
      socket.send(`{"type":"subscribe","id":"${id}","payload":${body(query, `{"ids":[${LARGE}]}`)}}`)
      const message = await answered
      const errors = (message.type === 'error' ? message.payload : message.payload.errors) as NonNullable<Answer['errors']>
      refused({ errors }, '$ids[0]')
    }
    socket.close()
  })

  test('in the connection parameter with the viewer id', async () => {
    const client = createClient({
      url: gateway.url.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      connectionParams: { viewerId: 9_007_199_254_740_992 },
      retryAttempts: 0,
    })
    const closed = new Promise<{ code: number; reason: string }>((resolve) => client.on('closed', (event) => resolve(event as never)))
    client.subscribe({ query: '{ __typename }' }, { next() {}, error() {}, complete() {} })
    expect(await closed).toMatchObject({ code: 4403, reason: expect.stringContaining('viewerId is a number: send a string') as string })
    await client.dispose()
  })
})

describe('a representation from another subgraph', () => {
  const query = (fields: string) => `query ($r: [_Any!]!) { _entities(representations: $r) { ... on Video { ${fields} } } }`
  const of = (key: string, fields = 'viewerProgress { position }') =>
    body(query(fields), `{"r":[{"__typename":"Video"${key}},{"__typename":"Video","id":"9007199254740991"}]}`)

  describe.each(['id', 'viewerProgress { position }'])('asked for %s', (fields) => {
    test.each([
      ['no key', undefined, 'id is missing'],
      ['101 bytes', `"${'x'.repeat(101)}"`, 'has 101 bytes'],
      ['a number beyond 2^53', LARGE, 'is the number'],
      ['a broken number', '1.5', 'id is a number'],
      ['null', 'null', 'id is null'],
      ['an object', '{"a":1}', 'id is an object'],
      ['true', 'true', 'id is a boolean'],
    ])('with %s as its id fails alone with ID_INVALID', async (_, id, sentence) => {
      const answer = await post(subgraph, of(id === undefined ? '' : `,"id":${id}`, fields))
      expect(answer.errors).toMatchObject([{ path: ['_entities', 0], extensions: { code: 'ID_INVALID' } }])
      expect(answer.errors?.[0]?.extensions).not.toHaveProperty('retryable')
      expect(answer.errors?.[0]?.message).toContain(sentence)
      expect(answer.data?.['_entities']).toMatchObject([null, {}])
      expect(readFileSync(join(folder, 'subgraph', 'output.log'), 'utf8')).not.toContain('internal error')
    })
  })

  test('may have an exact number as its id', async () => {
    await post(subgraph, body(REPORT, `{"i":${input('"12"')}}`))
    expect(await post(subgraph, of(',"id":12'))).toMatchObject({ data: { _entities: [{ viewerProgress: { position: 60_000 } }, {}] } })
  })
})
