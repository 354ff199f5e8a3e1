import { once } from 'node:events'
import { createServer, request, type IncomingMessage } from 'node:http'
import { connect as connectTcp, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { generateKeyPair, SignJWT } from 'jose'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { makeAddressOf } from '../../../gateway/request/addresses.ts'
import type { OpenLimitOptions } from '../../../gateway/limits/open-counts.ts'
import { post, startServer, type TestServer } from '../../support/front-schema.ts'
import { eventually } from '../../../harness/until.ts'

const SECRET = 'a secret of at least thirty-two bytes'
const MANY = 1_000
const AMPLE: OpenLimitOptions = {
  openConnections: { address: MANY, viewer: MANY, process: MANY },
  openCost: { address: MANY, viewer: MANY, process: MANY },
}
const FOLLOW = { query: 'subscription { changes }' }

let server: TestServer
afterEach(() => server.close())

async function start(over: Partial<OpenLimitOptions>): Promise<void> {
  server = await startServer({
    auth: { secret: SECRET },
    mode: 'production',
    more: { openLimits: { ...AMPLE, ...over }, addressOf: makeAddressOf(1) },
  })
}

const bearer = async (sub: string): Promise<string> =>
  `Bearer ${await new SignJWT({ sub }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('1h').sign(new TextEncoder().encode(SECRET))}`

/** A socket that a client at this address opens through a proxy. */
async function connect(address: string, params: object = {}, headers: Record<string, string> = {}) {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', {
    headers: { ...headers, 'x-forwarded-for': address },
  })
  const received: Record<string, any>[] = []
  socket.on('message', (data: Buffer) => received.push(JSON.parse(data.toString()) as Record<string, unknown>))
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) })),
  )
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const send = (message: object): void => socket.send(JSON.stringify(message))
  send({ type: 'connection_init', payload: params })
  return {
    socket,
    received,
    closed,
    send,
    acknowledged: () => eventually(() => expect(received).toContainEqual({ type: 'connection_ack' })),
  }
}

/** An upgrade without a key and a version. */
async function invalidUpgrade(address: string): Promise<number | undefined> {
  const headers = { connection: 'upgrade', upgrade: 'websocket', 'x-forwarded-for': address }
  const call = request(`${server.url}/graphql`, { headers }).end()
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode
}

/** Opens a socket and never sends a message. */
async function connectSilently(address: string) {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', {
    headers: { 'x-forwarded-for': address },
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return { socket, closed }
}

/** The answer to an upgrade that is refused because there is no room. */
function refusedUpgrade(address: string): Promise<{ status: number | undefined; retryAfter: string | undefined; body: any }> {
  return new Promise((resolve, reject) => {
    const call = request(`${server.url}/graphql`, {
      headers: {
        ...{ connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' },
        ...{ 'sec-websocket-protocol': 'graphql-transport-ws', 'x-forwarded-for': address },
      },
    })
    call.on('response', (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () =>
        resolve({ status: response.statusCode, retryAfter: response.headers['retry-after'], body: JSON.parse(text) }),
      )
    })
    call.on('upgrade', () => reject(new Error('it was let in')))
    call.on('error', reject)
    call.end()
  })
}

async function stream(address: string, authorization?: string, payload: object = FOLLOW) {
  const abort = new AbortController()
  const response = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: {
      ...{ accept: 'text/event-stream', 'content-type': 'application/json', 'x-forwarded-for': address },
      ...(authorization === undefined ? {} : { authorization }),
    },
    body: JSON.stringify(payload),
    signal: abort.signal,
  })
  return { response, abort: () => abort.abort() }
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
/** Bytes of the heap after a collection. */
async function collected(): Promise<number> {
  await sleep(100)
  collect()
  return process.memoryUsage().heapUsed
}

const connections = async (): Promise<number> => figure('tidemark_gateway_connections_open')
const cost = async (): Promise<number> => figure('tidemark_gateway_open_cost')
async function figure(name: string): Promise<number> {
  const metric = await server.registry.getSingleMetric(name)?.get()
  return metric?.values[0]?.value ?? Number.NaN
}

describe('open connections', () => {
  it('of one address get 429 above the limit, as WebSockets and as streams; other addresses and single requests do not', async () => {
    await start({ openConnections: { address: 2, viewer: MANY, process: MANY } })
    const first = await connect('10.0.0.1')
    const second = await stream('10.0.0.1')
    const refused = await refusedUpgrade('10.0.0.1')
    expect(refused).toMatchObject({ status: 429, retryAfter: '10', body: { errors: [{ extensions: { code: 'CONNECTIONS_TOO_MANY' } }] } })
    const streamed = await stream('10.0.0.1')
    expect([streamed.response.status, streamed.response.headers.get('retry-after')]).toEqual([429, '10'])
    expect(await streamed.response.text()).toContain('this address may have 2 connections open: close some first')
    expect((await post(server.url, { query: '{ hello }' }, { 'x-forwarded-for': '10.0.0.1' })).status).toBe(200)
    await (await connect('10.0.0.2')).acknowledged()
    second.abort()
    first.socket.terminate()
    await eventually(async () => expect(await connections()).toBe(1))
    await (await connect('10.0.0.1')).acknowledged()
  })

  it('above the limit of the process get 503', async () => {
    await start({ openConnections: { address: MANY, viewer: MANY, process: 2 } })
    await connect('10.0.0.1', { authorization: await bearer('1') })
    await stream('10.0.0.2', await bearer('2'))
    expect(await refusedUpgrade('10.0.0.3')).toMatchObject({
      status: 503,
      body: { errors: [{ extensions: { code: 'CAPACITY_REACHED' } }] },
    })
    expect((await stream('10.0.0.4', await bearer('3'))).response.status).toBe(503)
  })

  it('of clients that never identify themselves give way to a client that does', async () => {
    await start({ openConnections: { address: MANY, viewer: MANY, process: 3 } })
    const known = await connect('10.0.0.1', { authorization: await bearer('1') })
    await known.acknowledged()
    const silent = [await connectSilently('10.0.0.2'), await connectSilently('10.0.0.3')]
    const next = await connect('10.0.0.4', { authorization: await bearer('2') })
    await next.acknowledged()
    await silent[0]?.closed
    expect((await stream('10.0.0.5', await bearer('3'))).response.status).toBe(200)
    await silent[1]?.closed
    expect(await connections()).toBe(3)
    expect(await refusedUpgrade('10.0.0.6')).toMatchObject({ status: 503 })
    expect([known, next].map(({ socket }) => socket.readyState)).toEqual([WebSocket.OPEN, WebSocket.OPEN])
  })

  it('that are refused for their handshake or their viewer cut no other connection', async () => {
    await start({ openConnections: { address: MANY, viewer: 1, process: 2 }, openCost: { address: MANY, viewer: 10, process: MANY } })
    const authorization = await bearer('1')
    await (await connect('10.0.0.1', { authorization })).acknowledged()
    const silent = await connectSilently('10.0.0.2')
    expect(await invalidUpgrade('10.0.0.3')).toBe(400)
    expect((await stream('10.0.0.4', authorization)).response.status).toBe(429)
    expect((await stream('10.0.0.5', await bearer('2'))).response.status).toBe(429)
    expect(await connections()).toBe(2)
    silent.socket.send(JSON.stringify({ type: 'connection_init' }))
    expect(String(await once(silent.socket, 'message'))).toContain('connection_ack')
  })

  it('with tokens that are being verified are not cut while others are silent', async () => {
    const keys = createServer()
    keys.listen(0, '127.0.0.1')
    await once(keys, 'listening')
    server = await startServer({
      auth: { jwksUrl: `http://127.0.0.1:${(keys.address() as AddressInfo).port}/` },
      mode: 'production',
      more: { openLimits: { ...AMPLE, openConnections: { address: MANY, viewer: MANY, process: 2 } }, addressOf: makeAddressOf(1) },
    })
    const asked = once(keys, 'request')
    const { privateKey } = await generateKeyPair('ES256')
    const token = await new SignJWT({ sub: '1' }).setProtectedHeader({ alg: 'ES256', kid: '1' }).setExpirationTime('1h').sign(privateKey)
    const verifying = await connect('10.0.0.1', { authorization: `Bearer ${token}` })
    await asked
    const silent = await connectSilently('10.0.0.2')
    await connect('10.0.0.3')
    await silent.closed
    expect(verifying.socket.readyState).toBe(WebSocket.OPEN)
    keys.close()
    keys.closeAllConnections()
  })

  it('of one viewer are closed with 1013 above the limit, from all addresses together', async () => {
    await start({ openConnections: { address: MANY, viewer: 1, process: MANY } })
    const authorization = await bearer('1')
    await (await connect('10.0.0.1', { authorization })).acknowledged()
    const { closed, received } = await connect('10.0.0.2', { authorization })
    expect(await closed).toEqual({ code: 1013, reason: 'CONNECTIONS_TOO_MANY: this viewer may have 1 connections open: close some first' })
    expect(received).toEqual([])
    expect((await stream('10.0.0.3', authorization)).response.status).toBe(429)
    await (await connect('10.0.0.1', { authorization: await bearer('2') })).acknowledged()
    await eventually(async () => expect(await connections()).toBe(2))
  })

  it('limit the total cost of their subscriptions: one more is refused with its code, and the open ones go on', async () => {
    await start({ openCost: { address: 102, viewer: MANY, process: MANY } })
    const one = await connect('10.0.0.1')
    await one.acknowledged()
    one.send({ id: '1', type: 'subscribe', payload: FOLLOW })
    const { response } = await stream('10.0.0.1')
    expect(response.status).toBe(200)
    one.send({ id: '2', type: 'subscribe', payload: FOLLOW })
    const refused = {
      id: '2',
      type: 'error',
      payload: [expect.objectContaining({ extensions: expect.objectContaining({ code: 'SUBSCRIPTIONS_TOO_MANY' }) })],
    }
    await eventually(() => expect(one.received).toContainEqual(refused))
    expect((await stream('10.0.0.1')).response.status).toBe(429)
    expect((await stream('10.0.0.2')).response.status).toBe(200)
    for (const source of server.sources) source.emit('on')
    await eventually(() => expect(one.received).toContainEqual({ id: '1', type: 'next', payload: { data: { changes: 'on' } } }))
    one.send({ id: '1', type: 'complete' })
    one.send({ id: '3', type: 'subscribe', payload: FOLLOW })
    await eventually(() => expect(server.sources.size).toBe(3))
  })

  it('are charged for the size of their requests, which are kept as long as the subscriptions', async () => {
    await start({ openCost: { address: 160, viewer: MANY, process: MANY } })
    const padded = { ...FOLLOW, variables: { padding: 'x'.repeat(5_000) } }
    const one = await connect('10.0.0.1')
    await one.acknowledged()
    one.send({ id: '1', type: 'subscribe', payload: padded })
    await eventually(() => expect(server.sources.size).toBe(1))
    expect(await cost()).toBe(102)
    one.send({ id: '2', type: 'subscribe', payload: padded })
    await eventually(() => expect(one.received).toContainEqual(expect.objectContaining({ id: '2', type: 'error' })))
    expect((await stream('10.0.0.1', undefined, padded)).response.status).toBe(429)
    one.send({ id: '3', type: 'subscribe', payload: FOLLOW })
    await eventually(() => expect(server.sources.size).toBe(2))
  })

  it('start with a message of 16 KiB at most, which is kept as long as the socket', async () => {
    await start({})
    expect(await (await connect('10.0.0.1', { padding: 'x'.repeat(20_000) })).closed).toEqual({
      code: 4400,
      reason: 'the first message may have 16384 characters',
    })
    await (await connect('10.0.0.1', { padding: 'x'.repeat(15_000) })).acknowledged()
  })

  it('drop the headers of their upgrade once the viewer is known', async () => {
    await start({})
    const bytesOf = async (headers: Record<string, string>): Promise<number> => {
      await collected()
      const before = await collected()
      for (let count = 0; count < 50; count += 1) await (await connect('10.0.0.1', {}, headers)).acknowledged()
      return ((await collected()) - before) / 50
    }
    await bytesOf({})
    const plain = await bytesOf({})
    expect((await bytesOf({ 'x-padding': 'x'.repeat(12_000) })) - plain).toBeLessThan(6_000)
  })

  it.each(['/graphql', '/elsewhere'])(
    'that are refused at %s are ended by the server, even if the client keeps its side open',
    async (path) => {
      await start({ openConnections: { address: 0, viewer: MANY, process: MANY } })
      const { port } = new URL(server.url)
      const socket = connectTcp({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
      socket.write(
        `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nx-forwarded-for: 10.0.0.1\r\n` +
          'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
      )
      await new Promise((resolve) => socket.resume().once('end', resolve))
      // A write to a connection that the server has closed reports an error.
      const reset = new Promise((resolve) => socket.once('error', resolve).once('close', resolve))
      const writing = setInterval(() => socket.write('x'), 5)
      await reset
      clearInterval(writing)
      socket.destroy()
    },
  )

  it('leave nothing in memory, even if their clients die at any moment', async () => {
    await start({})
    const dying = Array.from({ length: 60 }, async (_, place) => {
      if (place % 2 === 0) {
        const { socket, send } = await connect(`10.0.0.${place % 7}`)
        if (place % 3 > 0) for (const id of ['1', '2']) send({ id, type: 'subscribe', payload: FOLLOW })
        setTimeout(() => socket.terminate(), place % 5)
        return
      }
      const call = request(`${server.url}/graphql`, {
        method: 'POST',
        headers: { accept: 'text/event-stream', 'content-type': 'application/json' },
      })
      call.on('error', () => {})
      call.end(JSON.stringify(FOLLOW))
      setTimeout(() => call.destroy(), place % 12)
    })
    await Promise.all(dying)
    await eventually(async () => {
      expect([await connections(), await cost(), server.sources.size]).toEqual([0, 0, 0])
    })
    expect(server.logged.filter(({ level }) => Number(level) > 30)).toEqual([])
  })
})
