/** Requests that fail outside GraphQL, at each server: the gateway, a standalone subgraph, and the operators' listener of a job. */
import { connect } from 'node:net'
import { buildSubgraphSchema } from '@apollo/subgraph'
import { Registry } from '@prometheus-io/client'
import { parse } from 'graphql'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { serveOperators } from '../../../cli/process/operators.ts'
import { makeConfig } from '../../../config/config.ts'
import { startServer } from '../../support/front-schema.ts'
import { startAlone } from '../../support/standalone.ts'

type Started = { url: string; close(): Promise<void> }

async function startSubgraph(): Promise<Started> {
  const { url, stop } = await startAlone(buildSubgraphSchema([{ typeDefs: parse('type Query { none: Int }') }]))
  return { url, close: stop }
}

async function startOperators(): Promise<Started> {
  const registry = new Registry()
  const store = { check: () => Promise.resolve() }
  const config = makeConfig([{ name: 'the test', values: { server: { port: 0 } } }])
  const operators = serveOperators(config, { hot: store, log: store, records: store }, registry, pino({ level: 'silent' }))
  return { url: await operators.listen(), close: () => operators.close() }
}

/** The answer to bytes that no HTTP client sends. */
async function raw(url: string, start: string, headers = '', sent = ''): Promise<{ status: number; head: string; body: string }> {
  const text = await new Promise<string>((resolve, reject) => {
    let received = ''
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.on('data', (chunk) => (received += chunk.toString()))
    socket.once('close', () => resolve(received)).once('error', reject)
    socket.write(`${start} HTTP/1.1\r\nhost: localhost\r\n${headers === '' ? 'connection: close\r\n' : headers}\r\n${sent}`)
  })
  const [head = '', body = ''] = text.split('\r\n\r\n', 2)
  return { status: Number(head.split(' ', 2)[1]), head: head.toLowerCase(), body }
}

function expectRefusal({ head, body }: { head: string; body: string }, message: RegExp): void {
  expect(head).toContain('\r\ncache-control: no-store')
  expect(head).toContain('\r\ncontent-type: application/json; charset=utf-8')
  expect(JSON.parse(body)).toEqual({ errors: [{ message: expect.stringMatching(message) as string, extensions: { code: 'BAD_REQUEST' } }] })
}

describe.each([
  ['the gateway', startServer as () => Promise<Started>],
  ['a subgraph alone', startSubgraph],
  ["a job's listener", startOperators],
])('%s', (_, start) => {
  let server: Started
  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server.close())

  it.each(['/%', '/graphql/p/%ff', '/graphql/%zz', 'http://[bad/graphql'])('refuses the malformed URL %s with BAD_REQUEST', async (url) => {
    const answer = await raw(server.url, `GET ${url}`)
    expect(answer.status).toBe(400)
    expectRefusal(answer, /^the path is not percent-encoded UTF-8: encode /)
  })

  it('refuses unknown paths, and other methods of known paths', async () => {
    const unknown = await raw(server.url, `GET /${'a'.repeat(3_000)}`)
    expect(unknown.status).toBe(404)
    expectRefusal(unknown, /^there is nothing here: .*\/health\/live/)
    for (const path of ['/health/live', '/health/ready/', '/metrics?x=1']) {
      const answer = await raw(server.url, `DELETE ${path}`)
      expect([answer.status, /^allow: (.*)$/m.exec(answer.head)?.[1]?.trim()]).toEqual([405, 'get, head'])
      expectRefusal(answer, /^this path does not take DELETE: use GET or HEAD$/)
    }
  })

  it('answers HEAD as GET, without a body', async () => {
    for (const path of ['/health/live', '/health/ready', '/metrics']) {
      const { status, body } = await raw(server.url, `HEAD ${path}`)
      expect([path, status, body]).toEqual([path, 200, ''])
    }
  })

  it('refuses a body of any type to an unknown path', async () => {
    const answer = await raw(server.url, 'POST /nowhere', 'connection: close\r\ncontent-type: text/xml\r\ncontent-length: 4\r\n', '<x/>')
    expect(answer.status).toBe(404)
    expectRefusal(answer, /^there is nothing here: /)
  })

  it('refuses an unknown expectation', async () => {
    const answer = await raw(server.url, 'GET /health/live', 'connection: close\r\nexpect: miracles\r\n')
    expect(answer.status).toBe(417)
    expectRefusal(answer, /"expect" is not understood: leave it out/)
  })

  it('refuses bytes that are not HTTP', async () => {
    const answer = await raw(server.url, 'FOO /')
    expect(answer.status).toBe(400)
    expectRefusal(answer, /^this is not HTTP: send/)
  })
})

describe('the gateway', () => {
  let server: Started
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())

  it('refuses an operation id that is too long for a path', async () => {
    const answer = await raw(server.url, `GET /graphql/p/${'a'.repeat(3_000)}`)
    expect(answer.status).toBe(414)
    expectRefusal(answer, /^the id in the path has more than 1000 characters: send/)
  })

  it('refuses a method that the API does not have', async () => {
    const answer = await raw(server.url, 'PROPFIND /graphql')
    expect([answer.status, answer.head]).toEqual([405, expect.stringContaining('allow: get, post')])
    expectRefusal(answer, /^this path does not take PROPFIND: use GET or POST$/)
  })

  it('refuses a request without a host', async () => {
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
      socket.once('data', (chunk) => resolve((socket.destroy(), chunk.toString())))
      socket.write('GET /health/live HTTP/1.1\r\n\r\n')
    })
    const [head = '', body = ''] = answer.split('\r\n\r\n', 2)
    expect(head).toMatch(/^HTTP\/1.1 400 /)
    expectRefusal({ head: head.toLowerCase(), body }, /"host" is missing: send/)
  })

  it('answers a client that offers HTTP/2 in HTTP/1.1', async () => {
    const answer = await raw(server.url, 'GET /graphql?query={hello}', 'connection: upgrade, http2-settings, close\r\nupgrade: h2c\r\n')
    expect([answer.status, answer.body]).toEqual([200, '{"data":{"hello":"hello world"}}'])
  })
})

describe('a WebSocket', () => {
  const UPGRADE = 'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n'
  const KEY = 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
  let server: Started & { url: string }
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())
  const sockets: WebSocket[] = []
  afterEach(() => sockets.splice(0).forEach((socket) => socket.terminate()))

  it.each([
    ['another path', 'GET /elsewhere', UPGRADE + KEY, 404, /^there is no WebSocket here: open it at \/graphql$/],
    ['a bad key', 'GET /graphql', `${UPGRADE}sec-websocket-key: short\r\n`, 400, /Sec-WebSocket-Key header\): use a WebSocket client/],
    ['no key', 'GET /graphql', UPGRADE, 400, /Sec-WebSocket-Key header\): use a WebSocket client/],
    ['an old version', 'GET /graphql', UPGRADE.replace('13', '7') + KEY, 400, /Sec-WebSocket-Version header\): use a WebSocket client/],
    ['another method', 'POST /graphql', UPGRADE + KEY, 405, /^a WebSocket is not opened by POST: use GET$/],
  ])('is refused for %s over HTTP, with a code', async (_, start, headers, status, message) => {
    const answer = await raw(server.url, start, headers)
    expect(answer.status).toBe(status)
    expectRefusal(answer, message)
  })

  it('opens with a slash at the end of the path', async () => {
    const socket = open('/graphql/')
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  })

  it.each([
    [
      'a message that is too large',
      (socket: WebSocket) => socket.send('x'.repeat(100_001)),
      1009,
      /^the message has more than 100000 bytes: /,
    ],
    ['a message that is not UTF-8', (socket: WebSocket) => socket.send(Buffer.from([0xff]), { binary: false }), 1007, /not UTF-8: send/],
    [
      'a frame of an unknown kind',
      (socket: WebSocket) => tcpOf(socket).write(Buffer.from([0x83, 0x80, 0, 0, 0, 0])),
      1002,
      /: use a WebSocket client/,
    ],
  ])('is closed on %s with a reason', async (_, act, code, reason) => {
    const socket = open('/graphql')
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    const closed = new Promise((resolve) => socket.once('close', (...given) => resolve([given[0], String(given[1])])))
    act(socket)
    expect(await closed).toEqual([code, expect.stringMatching(reason)])
  })

  function open(path: string): WebSocket {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, ['graphql-transport-ws'])
    sockets.push(socket)
    return socket
  }
  const tcpOf = (socket: WebSocket) => (socket as unknown as { _socket: { write(bytes: Buffer): void } })._socket
})

it('the message about an unknown path names the web pages of the gateway', async () => {
  const server = await startServer({ pages: ['home', 'demo'] })
  const answer = await raw(server.url, 'GET /nowhere')
  await server.close()
  expectRefusal(answer, /, web pages at \/, \/demo$/)
})
