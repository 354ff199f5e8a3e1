import { connect } from 'node:net'
import { createClient, type Client, type ClientOptions } from 'graphql-ws'
import { SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { startServer, type TestServer } from '../../support/front-schema.ts'
import { eventually } from '../../../harness/until.ts'

const SECRET = 'a secret of at least thirty-two bytes'

function token(sub: string, expiresIn = 60): Promise<string> {
  return new SignJWT({ sub, exp: Math.floor(Date.now() / 1_000) + expiresIn })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(SECRET))
}

const clients: Client[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) await client.dispose()
})

function open(server: TestServer, connectionParams: Record<string, unknown> = {}, options: Partial<ClientOptions> = {}): Client {
  const client = createClient({
    url: `${server.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams,
    retryAttempts: 0,
    lazy: false,
    onNonLazyError: () => {},
    ...options,
  })
  clients.push(client)
  return client
}

async function one(client: Client, query: string, variables?: Record<string, unknown>): Promise<unknown> {
  const results = await all(client, query, variables)
  expect(results).toHaveLength(1)
  return results[0]
}

async function all(client: Client, query: string, variables?: Record<string, unknown>): Promise<unknown[]> {
  const results: unknown[] = []
  for await (const result of client.iterate({ query, ...(variables === undefined ? {} : { variables }) })) results.push(result)
  return results
}

/** A bare socket, for what a well-behaved client never does. */
async function bare(server: TestServer, protocol: string | null = 'graphql-transport-ws', path = '/graphql') {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, protocol === null ? [] : [protocol])
  const received: Record<string, unknown>[] = []
  socket.on('message', (data) => received.push(JSON.parse((data as Buffer).toString()) as Record<string, unknown>))
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) })),
  )
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return {
    socket,
    received,
    closed,
    send: (message: unknown) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
  }
}

describe('a WebSocket', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())

  it('carries queries, mutations and subscriptions', async () => {
    const client = open(server, { viewerId: '5' })
    expect(await one(client, 'query Q($name: String) { hello(name: $name) }', { name: 'Ada' })).toEqual({ data: { hello: 'hello Ada' } })
    expect(await one(client, 'mutation { report(oid: "1") }')).toEqual({ data: { report: '5:1' } })
    expect(await all(client, 'subscription { ticks(count: 3) }')).toEqual([1, 2, 3].map((ticks) => ({ data: { ticks } })))
  })

  it('gives each operation a context of its own, and parses it once', async () => {
    const client = open(server)
    const first = (await one(client, '{ context }')) as { data: { context: number } }
    const parsed = server.engine.calls.parsed
    const second = (await one(client, '{ context }')) as { data: { context: number } }
    expect(second.data.context).toBeGreaterThan(first.data.context)
    expect(server.engine.calls.parsed).toBe(parsed)
  })

  it('tells the errors of fields with their data, and of documents without', async () => {
    const client = open(server)
    expect(await one(client, '{ hello mine }')).toEqual({
      data: { hello: 'hello world', mine: null },
      errors: [
        expect.objectContaining({
          message: 'history belongs to a viewer: send a token',
          path: ['mine'],
          extensions: { code: 'UNAUTHENTICATED' },
        }),
      ],
    })
    await expect(one(client, '{')).rejects.toEqual([expect.objectContaining({ extensions: { code: 'GRAPHQL_PARSE_FAILED' } })])
    await expect(one(client, '{ nothing }')).rejects.toEqual([
      expect.objectContaining({ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }),
    ])
    expect(await one(client, 'subscription { forbidden }')).toEqual({
      errors: [expect.objectContaining({ extensions: { code: 'UNAUTHENTICATED' } })],
    })
  })

  it('ends a subscription at its source when the client completes it, or is gone', async () => {
    const client = open(server)
    const changes = client.iterate({ query: 'subscription { changes }' })
    const first = changes.next()
    await eventually(() => expect(server.sources.size).toBe(1))
    for (const source of server.sources) source.emit('first')
    expect((await first).value).toEqual({ data: { changes: 'first' } })
    await changes.return?.()
    await eventually(() => expect(server.sources.size).toBe(0))

    const { socket, send, received } = await bare(server)
    send({ type: 'connection_init' })
    await eventually(() => expect(received).toHaveLength(1))
    send({ id: '1', type: 'subscribe', payload: { query: 'subscription { changes }' } })
    await eventually(() => expect(server.sources.size).toBe(1))
    socket.terminate()
    await eventually(() => expect(server.sources.size).toBe(0))
  })

  it('is closed with the code of the protocol for what the protocol forbids', async () => {
    const early = await bare(server)
    early.send({ id: '1', type: 'subscribe', payload: { query: '{ hello }' } })
    expect((await early.closed).code).toBe(4401)
    const garbage = await bare(server)
    garbage.send('{ no JSON')
    expect((await garbage.closed).code).toBe(4400)
    const twice = await bare(server)
    twice.send({ type: 'connection_init' })
    twice.send({ type: 'connection_init' })
    expect((await twice.closed).code).toBe(4429)
    const large = await bare(server)
    large.send({ type: 'connection_init', payload: { x: 'x'.repeat(200_000) } })
    expect((await large.closed).code).toBe(1009)
    const legacy = await bare(server, null)
    expect((await legacy.closed).code).toBe(4406)
    expect(await one(open(server), '{ hello }')).toEqual({ data: { hello: 'hello world' } })
  })

  it('is refused on another path, without harm', async () => {
    await expect(bare(server, 'graphql-transport-ws', '/elsewhere')).rejects.toThrow('404')
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.write('GET /graphql HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n')
    const text = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))))
    expect(text).toMatch(/^HTTP\/1.1 4\d\d/)
    socket.destroy()
  })

  it('is counted while it is open', async () => {
    const client = open(server)
    await one(client, '{ hello }')
    const count = async () =>
      Number(/^tidemark_gateway_sockets_open (\d+)$/m.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1])
    expect(await count()).toBe(1)
    await client.dispose()
    await eventually(async () => expect(await count()).toBe(0))
  })
})

describe('the rules of the protocol', () => {
  const init = async (server: TestServer, payload?: unknown) => {
    const socket = await bare(server)
    socket.send({ type: 'connection_init', payload })
    await eventually(() => expect(socket.received).toEqual([{ type: 'connection_ack' }]))
    return socket
  }
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())

  it('a socket that does not begin within 3 seconds is closed with 4408', async () => {
    const startedAt = Date.now()
    const { closed } = await bare(server)
    expect(await closed).toEqual({ code: 4408, reason: 'Connection initialisation timeout' })
    expect(Date.now() - startedAt).toBeGreaterThan(2_900)
    expect(Date.now() - startedAt).toBeLessThan(4_500)
  })

  it('an id in use is refused with 4409, and is free again once its operation is complete', async () => {
    const { send, received, closed } = await init(server)
    const subscribe = (id: string, query: string) => send({ id, type: 'subscribe', payload: { query } })
    subscribe('1', '{ hello }')
    await eventually(() => expect(received).toContainEqual({ id: '1', type: 'complete' }))
    subscribe('1', 'subscription { changes }')
    await eventually(() => expect(server.sources.size).toBe(1))
    subscribe('1', '{ hello }')
    expect(await closed).toEqual({ code: 4409, reason: 'Subscriber for 1 already exists' })
    await eventually(() => expect(server.sources.size).toBe(0))
  })

  it('messages that are none are refused with 4400', async () => {
    for (const message of [
      'null',
      '[]',
      '{}',
      '{"type":"unknown"}',
      '{"type":"subscribe"}',
      '{"type":"subscribe","id":"","payload":{"query":"{hello}"}}',
      '{"type":"subscribe","id":"1"}',
      '{"type":"subscribe","id":"1","payload":{}}',
      '{"type":"subscribe","id":"1","payload":{"query":7}}',
      '{"type":"subscribe","id":"1","payload":{"query":"{hello}","variables":[]}}',
      '{"type":"complete"}',
    ]) {
      const { send, closed } = await init(server)
      send(message)
      expect([message, (await closed).code]).toEqual([message, 4400])
    }
  })

  it('a ping is answered by a pong with its payload, also before connection_init', async () => {
    const { socket, send, received } = await bare(server)
    send({ type: 'ping', payload: { n: 1 } })
    await eventually(() => expect(received).toEqual([{ type: 'pong', payload: { n: 1 } }]))
    send({ type: 'pong' })
    send({ type: 'connection_init' })
    await eventually(() => expect(received).toContainEqual({ type: 'connection_ack' }))
    socket.close()
  })

  it('a complete ends an operation, and for one that is not open is ignored', async () => {
    const { socket, send, received } = await init(server)
    send({ id: 'none', type: 'complete' })
    send({ id: '1', type: 'subscribe', payload: { query: 'subscription { changes }' } })
    await eventually(() => expect(server.sources.size).toBe(1))
    send({ id: '1', type: 'complete' })
    await eventually(() => expect(server.sources.size).toBe(0))
    send({ id: '2', type: 'subscribe', payload: { query: '{ hello }' } })
    await eventually(() => expect(received).toContainEqual({ id: '2', type: 'complete' }))
    socket.close()
  })

  it('more than 1000 open operations are refused, one by one; those open go on', async () => {
    const { socket, send, received } = await init(server)
    for (let id = 0; id < 1_003; id += 1) send({ id: String(id), type: 'subscribe', payload: { query: 'subscription { changes }' } })
    await eventually(() => expect(received.filter(({ type }) => type === 'error')).toHaveLength(3))
    expect(server.sources.size).toBe(1_000)
    socket.close()
    await eventually(() => expect(server.sources.size).toBe(0))
  })

  it('subscriptions that cost too much together are refused one by one; what ends, fails or is completed makes room', async () => {
    const small = await startServer({ subscriptionsCostMax: 102 })
    try {
      const { send, received } = await init(small)
      const subscribe = (id: string, query: string) => send({ id, type: 'subscribe', payload: { query } })
      const refused = (id: string) => ({
        id,
        type: 'error',
        payload: [expect.objectContaining({ extensions: expect.objectContaining({ code: 'SUBSCRIPTIONS_TOO_MANY' }) })],
      })
      const complete = (id: string) => send({ id, type: 'complete' })
      let tries = 0
      /** One that was completed while it opened gives its room back when it has opened: asks until there is room. */
      const opened = async (): Promise<string> => {
        for (;;) {
          const before = small.sources.size
          const id = `try${tries++}`
          expect(tries).toBeLessThan(1_000)
          subscribe(id, 'subscription { changes }')
          const wasRefused = () => received.some((message) => message['id'] === id && message['type'] === 'error')
          await eventually(() => expect(small.sources.size > before || wasRefused()).toBe(true))
          if (!wasRefused()) return id
        }
      }
      // One that ends, one that fails as it opens, one that fails later, and one that is completed while it opens, again and again.
      for (let round = 0; round < 3; round++) {
        subscribe(`ends${round}`, 'subscription { ticks(count: 2) }')
        await eventually(() => expect(received).toContainEqual({ id: `ends${round}`, type: 'complete' }))
        subscribe(`forbidden${round}`, 'subscription { forbidden }')
        await eventually(() => expect(received).toContainEqual({ id: `forbidden${round}`, type: 'complete' }))
        subscribe(`breaks${round}`, 'subscription { breaks }')
        await eventually(() => expect(received.some(({ id, type }) => id === `breaks${round}` && type !== 'next')).toBe(true))
        subscribe(`left${round}`, 'subscription { changes }')
        complete(`left${round}`)
        await eventually(() => expect(small.sources.size).toBe(0))
        // There is room for two again.
        for (const id of [await opened(), await opened()]) complete(id)
        await eventually(() => expect(small.sources.size).toBe(0))
      }
      const [first] = [await opened(), await opened()]
      subscribe('3', 'subscription { changes }')
      await eventually(() => expect(received).toContainEqual(refused('3')))
      subscribe('4', '{ hello }')
      await eventually(() => expect(received).toContainEqual({ id: '4', type: 'complete' }))
      const other = await init(small)
      other.send({ id: '1', type: 'subscribe', payload: { query: 'subscription { changes }' } })
      await eventually(() => expect(small.sources.size).toBe(3))
      complete(first ?? '')
      await eventually(() => expect(small.sources.size).toBe(2))
      await opened()
    } finally {
      await small.close()
    }
  })

  it('a client that does not read its answers is not read either; others go on, and it gets all of them once it reads', async () => {
    const { socket, send, received } = await init(server)
    socket.pause()
    const name = 'x'.repeat(60_000)
    for (let id = 0; id < 400; id += 1)
      send({ id: String(id), type: 'subscribe', payload: { query: 'query ($name: String) { hello(name: $name) }', variables: { name } } })
    const other = await init(server)
    other.send({ id: '1', type: 'subscribe', payload: { query: '{ hello }' } })
    await eventually(() => expect(other.received).toContainEqual({ id: '1', type: 'complete' }))
    expect(socket.bufferedAmount).toBeGreaterThan(10_000_000)
    socket.resume()
    await eventually(() => expect(received.filter(({ type }) => type === 'complete')).toHaveLength(400))
    socket.close()
    other.socket.close()
  })

  it('a client that reads them may have any number', async () => {
    const { socket, send, received } = await init(server)
    const name = 'x'.repeat(60_000)
    for (let id = 0; id < 500; id += 1)
      send({ id: String(id), type: 'subscribe', payload: { query: 'query ($name: String) { hello(name: $name) }', variables: { name } } })
    await eventually(() => expect(received.filter(({ type }) => type === 'complete')).toHaveLength(500))
    socket.close()
  })
})

describe('the viewer of a WebSocket', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ mode: 'production', auth: { secret: SECRET } })
  })
  afterAll(() => server.close())

  it('is named once, by the token of connection_init', async () => {
    const client = open(server, { authorization: `Bearer ${await token('42')}` })
    expect(await one(client, '{ mine }')).toEqual({ data: { mine: 'of 42' } })
    expect(await one(client, '{ viewer }')).toEqual({ data: { viewer: '42' } })
  })

  it('may be named by the headers of the upgrade', async () => {
    const authorization = `Bearer ${await token('42')}`
    class WithHeader extends WebSocket {
      constructor(url: string, protocols: string) {
        super(url, protocols, { headers: { authorization } })
      }
    }
    expect(await one(open(server, {}, { webSocketImpl: WithHeader }), '{ viewer }')).toEqual({ data: { viewer: '42' } })
  })

  it('is named by connection_init alone if that names one, whatever the headers of the upgrade prove', async () => {
    const authorization = `Bearer ${await token('42')}`
    for (const headers of [{ authorization: `Bearer ${await token('43')}` }, { authorization: 'Basic x' }]) {
      class WithHeaders extends WebSocket {
        constructor(url: string, protocols: string) {
          super(url, protocols, { headers })
        }
      }
      for (const params of [{ authorization }, { Authorization: authorization }])
        expect(await one(open(server, params, { webSocketImpl: WithHeaders }), '{ viewer }')).toEqual({ data: { viewer: '42' } })
    }
  })

  it('is refused with a sentence where the token is a parameter and the headers of the upgrade say for whom', async () => {
    const authorization = `Bearer ${await token('42')}`
    for (const name of ['x-on-behalf-of', 'x-viewer-id']) {
      const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', { headers: { [name]: '7' } })
      socket.once('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization } })))
      const closed = await new Promise((resolve) => socket.once('close', (code, reason) => resolve({ code, reason: String(reason) })))
      const reason = `BAD_REQUEST: ${name} is a header and the token is a parameter: send both in the parameters, or both as headers`
      expect(closed).toEqual({ code: 4403, reason })
    }
  })

  it('may be missing', async () => {
    expect(await one(open(server), '{ hello viewer }')).toEqual({ data: { hello: 'hello world', viewer: null } })
  })

  it('of wrong credentials closes the socket with 4403 and the reason', async () => {
    for (const [payload, code] of [
      [{ authorization: 'Bearer a.b.c' }, 'UNAUTHENTICATED'],
      [{ authorization: `Bearer ${await token('42', -5)}` }, 'TOKEN_EXPIRED'],
      [{ viewerId: '42' }, 'UNAUTHENTICATED'],
      [{ authorization: { no: 'text' } }, 'UNAUTHENTICATED'],
    ] as const) {
      const { send, closed, received } = await bare(server)
      send({ type: 'connection_init', payload })
      expect(await closed).toEqual({ code: 4403, reason: expect.stringContaining(code) })
      expect(received).toEqual([])
    }
  })

  it('is let in until his token expires: then the socket is closed with 4403, and its subscriptions end', async () => {
    const { send, received, closed } = await bare(server)
    const startedAt = Date.now()
    send({ type: 'connection_init', payload: { authorization: `Bearer ${await token('42', 2)}` } })
    await eventually(() => expect(received).toEqual([{ type: 'connection_ack' }]))
    send({ id: '1', type: 'subscribe', payload: { query: 'subscription { changes }' } })
    await eventually(() => expect(server.sources.size).toBe(1))
    expect(await closed).toEqual({ code: 4403, reason: expect.stringMatching(/^TOKEN_EXPIRED: .*sign in again/) })
    expect(Date.now() - startedAt).toBeLessThan(4_000)
    await eventually(() => expect(server.sources.size).toBe(0))
  })

  it('may be one for whom a service acts, if its scope allows that', async () => {
    const service = (scope: string) =>
      new SignJWT({ sub: 'importer', scope, exp: Math.floor(Date.now() / 1_000) + 60 })
        .setProtectedHeader({ alg: 'HS256' })
        .sign(new TextEncoder().encode(SECRET))
    const client = open(server, { authorization: `Bearer ${await service('viewer:any')}`, onBehalfOf: '7' })
    expect(await one(client, '{ viewer }')).toEqual({ data: { viewer: '7' } })
    const { send, closed } = await bare(server)
    send({ type: 'connection_init', payload: { authorization: `Bearer ${await service('other')}`, onBehalfOf: '7' } })
    expect(await closed).toEqual({ code: 4403, reason: expect.stringContaining('FORBIDDEN') })
  })

  it('learns nothing of an internal error', async () => {
    const result = JSON.stringify(await one(open(server), '{ broken }'))
    expect(result).toContain('INTERNAL')
    expect(result).not.toContain('hunter2')
    const broken = await all(open(server), 'subscription { breaks }').catch((error: unknown) => error)
    expect(JSON.stringify(broken)).not.toContain('hunter2')
    expect(JSON.stringify(broken)).toContain('INTERNAL')
  })
})

it('a socket that answers no ping is cut', async () => {
  const server = await startServer({ pingEveryMs: 40 })
  const { socket, send, closed } = await bare(server)
  send({ type: 'connection_init' })
  socket.pong = () => {}
  expect((await closed).code).toBe(1006)
  const alive = await bare(server)
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(alive.socket.readyState).toBe(WebSocket.OPEN)
  alive.socket.terminate()
  await server.close()
})

describe('a shutdown', () => {
  it('answers queries under way, then closes with 1001, and does not complete subscriptions', async () => {
    const server = await startServer()
    const gate = server.hold()
    const { send, received, closed } = await bare(server)
    send({ type: 'connection_init' })
    await eventually(() => expect(received).toHaveLength(1))
    send({ id: 'changes', type: 'subscribe', payload: { query: 'subscription { changes }' } })
    send({ id: 'held', type: 'subscribe', payload: { query: '{ held }' } })
    await gate.entered
    const serverClosed = server.close()
    await new Promise((resolve) => setTimeout(resolve, 30))
    send({ id: 'late', type: 'subscribe', payload: { query: '{ hello }' } })
    await eventually(() =>
      expect(received).toContainEqual({
        id: 'late',
        type: 'error',
        payload: [expect.objectContaining({ extensions: { code: 'SHUTTING_DOWN', retryable: true } })],
      }),
    )
    gate.open()
    expect(await closed).toEqual({ code: 1001, reason: expect.any(String) })
    await serverClosed
    expect(received).toContainEqual({ id: 'held', type: 'next', payload: { data: { held: true } } })
    expect(received).toContainEqual({ id: 'held', type: 'complete' })
    expect(received).not.toContainEqual({ id: 'changes', type: 'complete' })
    expect(server.sources.size).toBe(0)
  })

  it('cuts sockets that take longer than drainMaxMs', async () => {
    const server = await startServer({ drainMaxMs: 100 })
    const gate = server.hold()
    const { send, received, closed } = await bare(server)
    send({ type: 'connection_init' })
    await eventually(() => expect(received).toHaveLength(1))
    send({ id: 'held', type: 'subscribe', payload: { query: '{ held }' } })
    await gate.entered
    await server.close()
    expect((await closed).code).toBe(1006)
    gate.open()
  })
})
