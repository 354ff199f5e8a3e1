import { connect } from 'node:net'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { post, startServer, type TestServer } from '../../support/front-schema.ts'

const SECRET = 'a secret of at least thirty-two bytes'

function token(sub: string, expiresIn = 60): Promise<string> {
  const exp = Math.floor(Date.now() / 1_000) + expiresIn
  return new SignJWT({ sub, exp }).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(SECRET))
}

describe('a request', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())

  it('gets the data that it asks for', async () => {
    const { status, json } = await post(server.url, { query: 'query Hi($name: String) { hello(name: $name) }', variables: { name: 'Ada' } })
    expect({ status, json }).toEqual({ status: 200, json: { data: { hello: 'hello Ada' } } })
  })

  it.each(['Ada', 'Zoë', '赤', '🎬', 'ÿ\u0080'])('gets the name %s back as UTF-8', async (name) => {
    const { json } = await post(server.url, { query: 'query Hi($name: String) { hello(name: $name) }', variables: { name } })
    expect(json).toEqual({ data: { hello: `hello ${name}` } })
  })

  it('runs the operation that it names, and gets an error for an unknown name', async () => {
    const query = 'query A { hello } query B { hello(name: "B") }'
    expect((await post(server.url, { query, operationName: 'B' })).json).toEqual({ data: { hello: 'hello B' } })
    expect((await post(server.url, { query, operationName: 'C' })).json.errors?.[0]?.extensions).toEqual({
      code: 'OPERATION_RESOLUTION_FAILURE',
    })
  })

  it('is parsed and validated once if it comes many times', async () => {
    const before = server.engine.calls.parsed
    for (let i = 0; i < 5; i++) await post(server.url, { query: '{ hello(name: "once") }' })
    await fetch(`${server.url}/graphql?query=${encodeURIComponent('{ hello(name: "once") }')}`)
    expect(server.engine.calls.parsed - before).toBe(1)
  })

  it('has its own context', async () => {
    const numbers = await Promise.all([1, 2, 3].map(async () => (await post(server.url, { query: '{ context }' })).json.data?.['context']))
    expect(new Set(numbers).size).toBe(3)
  })

  it('with failed fields keeps its data, and each error has a path', async () => {
    const { status, json } = await post(server.url, { query: '{ hello mine }' })
    expect(status).toBe(200)
    expect(json).toEqual({
      data: { hello: 'hello world', mine: null },
      errors: [
        {
          message: 'history belongs to a viewer: send a token',
          path: ['mine'],
          locations: [{ line: 1, column: 9 }],
          extensions: { code: 'UNAUTHENTICATED' },
        },
      ],
    })
    expect((await post(server.url, { query: '{ down }' })).json.errors?.[0]?.extensions).toEqual({
      code: 'HOT_STORE_UNAVAILABLE',
      retryable: true,
    })
  })

  it('may have a field called errors', async () => {
    const asBytes = await startServer({ toJson: true })
    expect((await post(asBytes.url, { query: '{ node { errors } }' })).json).toEqual({ data: { node: { errors: ['not an error'] } } })
    await asBytes.close()
  })

  it('by GET is answered for a query, and refused with 405 for a mutation', async () => {
    const query = await fetch(
      `${server.url}/graphql?${String(new URLSearchParams({ query: 'query Q($name: String) { hello(name: $name) }', variables: '{"name":"Ada"}' }))}`,
    )
    expect({ status: query.status, json: await query.json() }).toEqual({ status: 200, json: { data: { hello: 'hello Ada' } } })
    const mutation = await fetch(`${server.url}/graphql?${String(new URLSearchParams({ query: 'mutation { report(oid: "1") }' }))}`)
    expect(mutation.status).toBe(405)
    expect(mutation.headers.get('allow')).toBe('POST')
    expect(await mutation.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] })
  })

  it('for a subscription gets an error that says how to open one', async () => {
    const { status, json } = await post(
      server.url,
      { query: 'subscription { ticks(count: 1) }' },
      { accept: 'application/graphql-response+json' },
    )
    expect(status).toBe(400)
    expect(json.errors?.[0]?.message).toContain('text/event-stream')
  })
})

describe('a bad request', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ bodyBytesMax: 2_000 })
  })
  afterAll(() => server.close())

  const BAD: { name: string; body: string; headers?: Record<string, string>; method?: string; status: number; says: RegExp }[] = [
    { name: 'malformed JSON', body: '{"query": "{ hello }"', status: 400, says: /not valid JSON/ },
    { name: 'an empty body', body: '', status: 400, says: /body is empty/ },
    { name: 'JSON that is a string', body: '"{ hello }"', status: 400, says: /not a JSON object/ },
    { name: 'JSON that is null', body: 'null', status: 400, says: /not a JSON object/ },
    {
      name: 'a batch of operations',
      body: ' [{"query": "{ hello }"}, {"query": "{ hello }"}]',
      status: 400,
      says: /one operation per request/,
    },
    { name: 'no query', body: '{"operationName": "A"}', status: 400, says: /"query" is missing/ },
    { name: 'a query that is an object', body: '{"query": {}}', status: 400, says: /"query" is not a string/ },
    { name: 'variables in an array', body: '{"query": "{ hello }", "variables": []}', status: 400, says: /"variables" is not an object/ },
    { name: 'variables as text', body: '{"query": "{ hello }", "variables": "{}"}', status: 400, says: /"variables" is not an object/ },
    {
      name: 'a name that is a number',
      body: '{"query": "{ hello }", "operationName": 1}',
      status: 400,
      says: /"operationName" is not a string/,
    },
    {
      name: 'extensions that are a number',
      body: '{"query": "{ hello }", "extensions": 1}',
      status: 400,
      says: /"extensions" is not an object/,
    },
    {
      name: 'a body of plain text, which a foreign page could send',
      body: '{"query": "{ hello }"}',
      headers: { 'content-type': 'text/plain' },
      status: 415,
      says: /content-type: application\/json/,
    },
    {
      name: 'a form, which a foreign page could send',
      body: 'query=%7Bhello%7D',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      status: 415,
      says: /content-type/,
    },
    {
      name: 'a charset that is not UTF-8',
      body: '{"query": "{ hello }"}',
      headers: { 'content-type': 'application/json; charset=latin1' },
      status: 415,
      says: /UTF-8/,
    },
    {
      name: 'a media type that is none',
      body: '{"query": "{ hello }"}',
      headers: { 'content-type': 'json' },
      status: 415,
      says: /content-type: application\/json/,
    },
    {
      name: 'an accept header that nothing fits',
      body: '{"query": "{ hello }"}',
      headers: { accept: 'application/xml' },
      status: 406,
      says: /accept/,
    },
    { name: 'another method', body: '{"query": "{ hello }"}', method: 'PUT', status: 405, says: /method/ },
    {
      name: 'a body over the limit',
      body: JSON.stringify({ query: `{ hello } # ${'x'.repeat(2_000)}` }),
      status: 413,
      says: /more than 2000 bytes/,
    },
  ]
  for (const { name, body, headers, method = 'POST', status, says } of BAD) {
    it(`with ${name} gets ${status}, a code and a sentence`, async () => {
      const response = await fetch(`${server.url}/graphql`, { method, headers: { 'content-type': 'application/json', ...headers }, body })
      const json = (await response.json()) as { errors: { message: string; extensions: { code: string } }[] }
      expect([response.status, json.errors.length]).toEqual([status, 1])
      expect(json.errors[0]?.message).toMatch(says)
      expect(json.errors[0]?.extensions.code).toBe(status === 413 ? 'BODY_TOO_LARGE' : 'BAD_REQUEST')
    })
  }

  it('above the limit is refused even without a declared length', async () => {
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new TextEncoder().encode('x'.repeat(1_000))) })
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: endless,
      duplex: 'half',
    }).catch(() => undefined)
    // The connection is closed while the client still sends, so the client may miss the answer.
    if (response !== undefined) expect(response.status).toBe(413)
    expect((await post(server.url, { query: '{ hello }' })).status).toBe(200)
  })

  it('with malformed variables in the URL gets 400', async () => {
    const response = await fetch(`${server.url}/graphql?query={hello}&variables={`)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      errors: [{ message: expect.stringContaining('URL'), extensions: { code: 'BAD_REQUEST' } }],
    })
  })

  it('that is not HTTP does no harm', async () => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.end('\u0000\u0001 no HTTP\r\n\r\n')
    await new Promise((resolve) => socket.once('close', resolve).resume())
    expect((await post(server.url, { query: '{ hello }' })).status).toBe(200)
  })

  it('to an unknown path gets 404 with the known paths', async () => {
    const response = await fetch(`${server.url}/graph`)
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ errors: [{ message: expect.stringContaining('/graphql') }] })
  })
})

it('both ways to read a request give the same answers', async () => {
  const [direct, handled] = [await startServer({ direct: true }), await startServer({ direct: false })]
  const bodies = [
    ...[
      '{ hello }',
      '{',
      '{ nothing }',
      'mutation { report(oid: "1") }',
      'mutation { report }',
      '{ mine }',
      '{ down hello }',
      '{ partner }',
      '{ viewer }',
    ],
    ...[
      'subscription { ticks(count: 1) }',
      'query A { hello } query B { hello }',
      'query Q($id: ID!) { __type(name: "x") { name } hello }',
      '',
    ],
  ].map((query) => JSON.stringify({ query }))
  bodies.push(
    '{"query":"{ hello }","variables":{"a":1},"extensions":{"b":2},"operationName":null}',
    '{"query":"query Q($name: String) { hello(name: $name) }","variables":{"name":7}}',
  )
  bodies.push(
    '[]',
    '{}',
    '1',
    '{"query":1}',
    'null',
    '{"query":"{ hello }","variables":[1]}',
    '{"__proto__":{"query":"{ hello }"}}',
    '\uFEFF{"query":"{ hello }"}',
  )
  const accepts = [
    undefined,
    '*/*',
    'application/json',
    'application/graphql-response+json',
    'application/graphql-response+json, application/json;q=0.9',
    'text/html',
    'application/json; charset=utf-16, */*',
  ]
  const types = ['application/json', 'application/json; charset=utf-8', 'application/json;charset=UTF-8']
  let compared = 0
  for (const body of bodies) {
    for (const accept of accepts) {
      for (const authorization of [undefined, 'Bearer a.b.c']) {
        const headers: Record<string, string> = { 'content-type': types[compared % 3] as string, 'x-viewer-id': '5' }
        if (accept !== undefined) headers['accept'] = accept
        if (authorization !== undefined) headers['authorization'] = authorization
        const [a, b] = await Promise.all([direct, handled].map(({ url }) => answerOf(url, body, headers)))
        expect(a, `${body} accepting ${accept}`).toEqual(b)
        compared += 1
      }
    }
  }
  expect(compared).toBeGreaterThan(300)
  await Promise.all([direct.close(), handled.close()])
})

async function answerOf(url: string, body: string, headers: Record<string, string>) {
  const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body })
  return {
    status: response.status,
    text: await response.text(),
    type: response.headers.get('content-type'),
    authenticate: response.headers.get('www-authenticate'),
  }
}

it('results as bytes have the same answers as results as objects, with and without errors', async () => {
  const [asBytes, asObjects] = [await startServer({ toJson: true }), await startServer()]
  for (const query of [
    '{ hello }',
    '{ hello down }',
    '{ hello partner }',
    '{ node { errors } down }',
    'query Q($name: String!) { hello(name: $name) }',
  ]) {
    const [a, b] = await Promise.all(
      [asBytes, asObjects].map(({ url }) => answerOf(url, JSON.stringify({ query }), { 'content-type': 'application/json' })),
    )
    expect(a, query).toEqual(b)
  }
  await Promise.all([asBytes.close(), asObjects.close()])
})

describe('the viewer', () => {
  let production: TestServer
  beforeAll(async () => {
    production = await startServer({ mode: 'production', auth: { secret: SECRET } })
  })
  afterAll(() => production.close())

  it('of a token reaches the resolvers', async () => {
    const { json } = await post(production.url, { query: '{ mine }' }, { authorization: `Bearer ${await token('42')}` })
    expect(json).toEqual({ data: { mine: 'of 42' } })
  })

  it('may be missing', async () => {
    expect((await post(production.url, { query: '{ hello viewer }' })).json).toEqual({ data: { hello: 'hello world', viewer: null } })
  })

  it('of a wrong token gets 401 with either media type', async () => {
    for (const accept of ['application/json', 'application/graphql-response+json']) {
      const wrong = await post(production.url, { query: '{ hello }' }, { authorization: 'Bearer a.b.c', accept })
      expect([wrong.status, wrong.json.errors?.[0]?.extensions, wrong.json.data]).toEqual([401, { code: 'UNAUTHENTICATED' }, undefined])
      expect(wrong.headers.get('www-authenticate')).toBe('Bearer')
      const expired = await post(production.url, { query: '{ hello }' }, { authorization: `Bearer ${await token('42', -5)}`, accept })
      expect([expired.status, expired.json.errors?.[0]?.extensions]).toEqual([401, { code: 'TOKEN_EXPIRED' }])
    }
  })

  it('is not taken from x-viewer-id in production', async () => {
    const { status, json } = await post(production.url, { query: '{ viewer }' }, { 'x-viewer-id': '42' })
    expect([status, json.errors?.[0]?.extensions]).toEqual([401, { code: 'UNAUTHENTICATED' }])
  })

  it('is taken from x-viewer-id in development', async () => {
    const development = await startServer()
    expect((await post(development.url, { query: '{ viewer }' }, { 'x-viewer-id': '42' })).json).toEqual({ data: { viewer: '42' } })
    const { status, json } = await post(development.url, { query: '{ viewer }' }, { 'x-viewer-id': 'x'.repeat(65) })
    expect([status, json.errors?.[0]?.extensions]).toEqual([400, { code: 'ID_INVALID' }])
    const inUtf8 = Buffer.from('zoë 🎬').toString('latin1')
    expect((await post(development.url, { query: '{ viewer }' }, { 'x-viewer-id': inUtf8 })).json).toEqual({ data: { viewer: 'zoë 🎬' } })
    for (const id of ['zo\u00eb', '7, 8']) {
      const refused = await post(development.url, { query: '{ viewer }' }, { 'x-viewer-id': id })
      expect([refused.status, refused.json.errors?.[0]?.extensions]).toEqual([400, { code: 'ID_INVALID' }])
    }
    await development.close()
  })

  it('sees no details of an internal error in production, and the log has them', async () => {
    for (const toJson of [false, true]) {
      const server = await startServer({ mode: 'production', auth: { secret: SECRET }, toJson })
      const { json } = await post(server.url, { query: '{ broken }' })
      expect(JSON.stringify(json)).not.toMatch(/hunter2|store-7/)
      const { message = '', extensions } = json.errors?.[0] ?? {}
      expect(extensions).toEqual({ code: 'INTERNAL', retryable: true })
      expect(server.logged.find((line) => message.includes(String(line['id'])))).toMatchObject({
        err: { message: expect.stringContaining('hunter2') },
      })
      await server.close()
    }
  })
})
