/** Each way to call an operation by an id, through each door. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { post, startServer, type GraphQLAnswer, type TestServer } from '../../support/front-schema.ts'
import { apollo, makeManifestFolder, sha } from '../../../harness/samples/manifests.ts'

const HELLO = 'query Hello($name: String) { hello(name: $name) }'
const REPORT = 'mutation Report($oid: ID!) { report(oid: $oid) }'
const TICKS = 'subscription Ticks { ticks(count: 2) }'
const TWO = 'query A { hello } query B { hello(name: "B") }'
const NEWER = 'application/graphql-response+json'

const files = makeManifestFolder()
let server: TestServer
beforeAll(async () => {
  files.write('a.json', apollo({ body: HELLO }, { body: REPORT }, { body: TICKS }, { id: 'two', body: TWO }))
  files.write('b.json', JSON.stringify({ '17': HELLO }))
  server = await startServer({ persisted: { manifests: [files.folder] } })
})
afterAll(async () => {
  await server.close()
  files.remove()
})

const variables = { name: 'Ada' }
const apq = (text: string) => ({ persistedQuery: { version: 1, sha256Hash: sha(text) } })

async function get(pathAndSearch: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}${pathAndSearch}`, { headers })
  return { status: response.status, headers: response.headers, json: (await response.json()) as GraphQLAnswer }
}

function search(parameters: Record<string, unknown>): string {
  const texts = Object.entries(parameters).map(([key, value]): [string, string] => [
    key,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  return String(new URLSearchParams(texts))
}

/** A bare socket, because client libraries add or omit parts of a request. Rejects with the errors of the operation. */
function overSocket(payload: Record<string, unknown>): Promise<unknown[]> {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, ['graphql-transport-ws'])
  const send = (message: unknown) => socket.send(JSON.stringify(message))
  const results: unknown[] = []
  return new Promise<unknown[]>((resolve, reject) => {
    socket.once('open', () => send({ type: 'connection_init' }))
    socket.once('close', (code, reason) => reject(new Error(`closed with ${code} ${String(reason)}`)))
    socket.on('message', (data) => {
      const message = JSON.parse((data as Buffer).toString()) as { type: string; payload?: unknown }
      if (message.type === 'connection_ack') send({ type: 'subscribe', id: '1', payload })
      if (message.type === 'next') results.push(message.payload)
      if (message.type === 'complete') resolve(results)
      if (message.type === 'error') reject(message.payload)
    })
  }).finally(() => socket.terminate())
}

const FORMS: [string, Record<string, unknown>][] = [
  ['documentId', { documentId: sha(HELLO) }],
  ['documentId with its method', { documentId: `sha256:${sha(HELLO)}` }],
  ['a documentId of our own', { documentId: '17' }],
  ['doc_id', { doc_id: '17' }],
  ['sha256Hash', { extensions: apq(HELLO) }],
  ['documentId and sha256Hash that agree', { documentId: sha(HELLO), extensions: apq(HELLO) }],
  ['id and text that belong together', { documentId: sha(HELLO), query: HELLO }],
  ['an id and an empty text', { documentId: '17', query: '' }],
]
describe.each(FORMS)('an operation called by %s', (_name, form) => {
  const expected = { data: { hello: 'hello Ada' } }
  it('a call by id is answered over POST', async () => {
    expect((await post(server.url, { ...form, variables })).json).toEqual(expected)
    expect((await post(server.url, { ...form, variables }, { 'content-type': 'application/json; charset=UTF-8' })).json).toEqual(expected)
  })
  it('a call by id is answered over GET', async () => {
    expect((await get(`/graphql?${search({ ...form, variables })}`)).json).toEqual(expected)
  })
  it('a call by id is answered as an event stream', async () => {
    const headers = { 'content-type': 'application/json', accept: 'text/event-stream' }
    const streamed = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ ...form, variables }) })
    expect(await streamed.text()).toBe(`event: next\ndata: ${JSON.stringify(expected)}\n\nevent: complete\ndata:\n\n`)
  })
  it('a call by id is answered over WebSocket', async () => {
    expect(await overSocket({ ...form, variables })).toEqual([expected])
  })
})

describe('the address of an operation', () => {
  it('the address of an operation answers GET with the variables of the URL', async () => {
    for (const id of [sha(HELLO), `sha256:${sha(HELLO)}`, '17']) {
      expect((await get(`/graphql/p/${id}?${search({ variables })}`)).json).toEqual({ data: { hello: 'hello Ada' } })
    }
    expect((await get('/graphql/p/17')).json).toEqual({ data: { hello: 'hello world' } })
    expect((await get('/graphql/p/two?operationName=B')).json).toEqual({ data: { hello: 'hello B' } })
  })

  it('the address of an operation answers POST with the variables as its body', async () => {
    const send = (id: string, body?: string, headers: Record<string, string> = { 'content-type': 'application/json' }) =>
      fetch(`${server.url}/graphql/p/${id}`, { method: 'POST', headers, ...(body === undefined ? {} : { body }) })
    expect(await (await send(sha(REPORT), '{"oid":"7"}', { 'content-type': 'application/json', 'x-viewer-id': '5' })).json()).toEqual({
      data: { report: '5:7' },
    })
    expect(await (await send('17')).json()).toEqual({ data: { hello: 'hello world' } })
    for (const [body, sentence] of [
      ['[1]', 'not a JSON object'],
      ['{', 'not a JSON object'],
    ] as const) {
      const refused = await send('17', body)
      expect([refused.status, JSON.stringify(await refused.json())]).toEqual([400, expect.stringContaining(sentence)])
    }
  })

  it('the address of an operation streams subscriptions to an EventSource', async () => {
    const streamed = await fetch(`${server.url}/graphql/p/${sha(TICKS)}`, { headers: { accept: 'text/event-stream' } })
    expect(await streamed.text()).toContain('data: {"data":{"ticks":2}}')
  })

  it('no form of GET runs a mutation', async () => {
    for (const accept of ['*/*', NEWER, 'text/event-stream']) {
      const { status, json } = await get(`/graphql/p/${sha(REPORT)}?variables={"oid":"7"}`, { accept })
      expect([status, json.errors?.[0]?.extensions?.['code']]).toEqual([405, 'BAD_REQUEST'])
    }
  })

  it('the address of an operation accepts no text beside it', async () => {
    expect((await get('/graphql/p/17?query={viewer}')).json.errors?.[0]?.message).toContain('leave "query" out')
  })
})

describe('an unknown id', () => {
  const unknown = sha('unknown')
  it.each([
    ['documentId', { documentId: unknown }, /no operation has the id/],
    ['doc_id', { doc_id: 'none' }, /no operation has the id none/],
    ['sha256Hash', { extensions: apq('unknown') }, /^PersistedQueryNotFound$/],
  ])('an unknown id as %s gets PERSISTED_QUERY_NOT_FOUND through each door', async (_name, form, message) => {
    const error = { message: expect.stringMatching(message), extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } }
    const posted = await post(server.url, form, { accept: NEWER })
    expect([posted.status, posted.json]).toEqual([400, { errors: [error] }])
    const got = await get(`/graphql?${search(form)}`)
    expect([got.status, got.json, got.headers.get('cache-control')]).toEqual([200, { errors: [error] }, 'no-store'])
    await expect(overSocket(form)).rejects.toEqual([error])
  })

  it('an unknown id in the path gets PERSISTED_QUERY_NOT_FOUND, and no cache keeps the answer', async () => {
    const { status, json, headers } = await get(`/graphql/p/${unknown}`, { accept: NEWER })
    expect([status, json.errors?.[0]?.extensions, headers.get('cache-control')]).toEqual([
      400,
      { code: 'PERSISTED_QUERY_NOT_FOUND' },
      'no-store',
    ])
  })
})

describe('an id of one operation with the text of another', () => {
  it.each([
    ['its SHA-256', { documentId: sha(HELLO) }],
    ['its SHA-256 as Apollo sends it', { extensions: apq(HELLO) }],
    ['an id of our own', { documentId: '17' }],
  ])(
    'an id (%s) with another text gets PERSISTED_QUERY_HASH_MISMATCH through each door, and neither operation runs',
    async (_name, form) => {
      const { prepared } = server.engine.calls
      for (const query of ['{ viewer }', `${HELLO} `, REPORT]) {
        const error = {
          message: expect.stringContaining('the text does not match the id'),
          extensions: { code: 'PERSISTED_QUERY_HASH_MISMATCH' },
        }
        const sent = { ...form, query, variables: { oid: '7' } }
        expect((await post(server.url, sent, { 'x-viewer-id': '5' })).json).toEqual({ errors: [error] })
        expect((await get(`/graphql?${search(sent)}`)).json).toEqual({ errors: [error] })
        await expect(overSocket(sent)).rejects.toEqual([error])
      }
      expect(server.engine.calls.prepared).toBe(prepared)
    },
  )
})

describe('an invalid id', () => {
  it.each([
    ['a number', { documentId: 7 }, /"documentId" is not a string/],
    ['a doc_id that is an object', { doc_id: {} }, /"documentId" is not a string/],
    ['two that differ', { documentId: '17', doc_id: '18' }, /differ/],
    ['two places that differ', { documentId: '17', extensions: apq(HELLO) }, /different operations/],
    ['too long', { documentId: 'x'.repeat(201) }, /is not an id/],
    ['with a line break', { documentId: 'ios\n1' }, /is not an id/],
    ['half a hash', { documentId: 'sha256:abc' }, /64 hexadecimal/],
    ['another version', { extensions: { persistedQuery: { version: 2, sha256Hash: sha(HELLO) } } }, /version 2/],
    ['no hash', { extensions: { persistedQuery: { version: 1, sha256Hash: 'x' } } }, /not 64 hexadecimal/],
    ['no object', { extensions: { persistedQuery: 'x' } }, /has no version: send \{"version": 1/],
  ])('an invalid id (%s) gets BAD_REQUEST with a message', async (_name, form, sentence) => {
    const { json } = await post(server.url, form)
    expect(json.errors?.[0]).toMatchObject({ message: expect.stringMatching(sentence), extensions: { code: 'BAD_REQUEST' } })
    const [key = '', value] = Object.entries(form)[0] ?? []
    if (typeof value === 'number') return
    const got = await get(`/graphql?${search(form)}`)
    if (key === 'extensions') expect(got.json.errors?.[0]?.extensions).toEqual({ code: 'BAD_REQUEST' })
  })

  it('an invalid id does not close a WebSocket', async () => {
    await expect(overSocket({ documentId: 7 })).rejects.toMatchObject([{ extensions: { code: 'BAD_REQUEST' } }])
  })
})

it('operations of manifests are prepared once, at start', async () => {
  const { parsed } = server.engine.calls
  await post(server.url, { documentId: sha(HELLO) })
  await post(server.url, { query: HELLO })
  await get('/graphql/p/two?operationName=A')
  expect(server.engine.calls.parsed).toBe(parsed)
  const { prepared } = server.engine.calls
  await post(server.url, { documentId: sha(HELLO) })
  expect(server.engine.calls.prepared).toBe(prepared)
})
