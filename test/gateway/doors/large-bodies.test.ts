/** Large bodies arrive together. Each is parsed in its own turn, only while its client is connected and admitted. Callers take turns. */
import { once } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket, connect } from 'node:net'
import { Registry } from '@prometheus-io/client'
import { pino } from 'pino'
import { describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { makeFront, type Collaborators } from '../../../gateway/request/front.ts'
import { JSON_TYPE } from '../../../gateway/doors/accept.ts'
import { makeHttp } from '../../../gateway/doors/http.ts'
import { letIn } from '../../../gateway/doors/request-handler.ts'
import { holdBody } from '../../../gateway/limits/held-bytes.ts'
import { makeRateLimits } from '../../../gateway/limits/rate-limits.ts'
import { makeSse } from '../../../gateway/doors/sse.ts'
import { makeIdentify } from '../../../gateway/identity/identify.ts'
import { post, startServer } from '../../support/front-schema.ts'
import { eventually } from '../../../harness/until.ts'
import { makeContext, openGraph } from '../engine-graph.ts'

const LARGE = 100_000
const STREAM = 'text/event-stream'

function makeDoors(more: Partial<Collaborators> = {}) {
  const contexts = vi.fn(() => makeContext())
  const front = makeFront(openGraph(), 'development', {
    identify: makeIdentify({}, 'development'),
    makeContext: contexts,
    ready: async () => ({ ok: true, stores: {} }),
    log: pino({ level: 'silent' }),
    registry: new Registry(),
    operationCostMax: Infinity,
    ...more,
  })
  const http = makeHttp(front)
  const sse = makeSse(front, { pingEveryMs: 60_000 })
  const events: string[] = []
  /** Resolves with the status; 200 for a stream that may be written. */
  async function ask(
    name: string,
    bytes: number,
    { accept = 'application/json', address = '198.51.100.1', response = makeResponse(), end = '}' } = {},
  ) {
    const body = `{"query":"{ numbers }","extensions":{"fill":"${'x'.repeat(bytes)}"}${end}`
    const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked', accept }
    const request = { method: 'POST', url: '/graphql', headers, body, address }
    const caller = await letIn(front, request, response, JSON_TYPE)
    const given = 'status' in caller ? caller : await (accept === STREAM ? sse.open(request, caller) : http(request, caller, JSON_TYPE))
    events.push(name)
    return typeof given === 'function' ? 200 : given.status
  }
  return { front, ask, events, contexts }
}

function makeResponse(headers: IncomingMessage['headers'] = {}): ServerResponse {
  return new ServerResponse(Object.assign(new IncomingMessage(new Socket()), { headers }))
}

/** Adds an event for each pass of the event loop. */
function probe(events: string[]): { stop(): void } {
  let next: NodeJS.Immediate
  const again = (): void => {
    events.push('probe')
    next = setImmediate(again)
  }
  next = setImmediate(again)
  return { stop: () => clearImmediate(next) }
}

function expectProbesBetween(events: readonly string[], name: string, count: number): void {
  const found = events.join(' ').split(name)
  expect(found).toHaveLength(count + 1)
  for (const between of found.slice(1, -1)) expect(between).toContain('probe')
}

describe('large bodies that arrive together', () => {
  it.each(['application/json', STREAM])(
    'of %s: the event loop runs between any two, and a small request is answered in between',
    async (accept) => {
      const { ask, events } = makeDoors()
      await ask('first', 10)
      const probes = probe(events)
      const [first, ...others] = Array.from({ length: 5 }, () => ask('large', LARGE, { accept }))
      const small = first?.then(() => ask('small', 10))
      expect(await Promise.all([first, ...others, small])).toEqual([200, 200, 200, 200, 200, 200])
      probes.stop()
      expectProbesBetween(events, 'large', 5)
      expect(events.indexOf('small')).toBeLessThan(events.lastIndexOf('large'))
    },
  )

  it('over WebSocket: the event loop runs between any two', async () => {
    const events: string[] = []
    const more = { makeContext: () => (events.push('large'), { viewer: undefined, number: 1 }) }
    const server = await startServer({ more, bodyBytesMax: 1_000_000 })
    const sockets = await Promise.all(Array.from({ length: 5 }, () => openSocket(server.url)))
    const message = subscribe('{ hello }')
    for (const socket of sockets) socket.send(message.slice(0, -1), { fin: false })
    // When the pings after the fragments are answered, the fragments have arrived.
    await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('pong', resolve).ping())))
    const probes = probe(events)
    for (const socket of sockets) socket.send(message.slice(-1), { fin: true })
    await eventually(() => expect(events.filter((event) => event === 'large')).toHaveLength(5))
    probes.stop()
    expectProbesBetween(events, 'large', 5)
    for (const socket of sockets) socket.terminate()
    await server.close()
  })

  it('of two callers are answered in turns', async () => {
    const { ask, events } = makeDoors()
    const many = Array.from({ length: 4 }, () => ask('many', LARGE))
    await Promise.all([...many, ask('one', LARGE, { address: '203.0.113.1' })])
    expect(events).toEqual(['many', 'one', 'many', 'many', 'many'])
  })

  it('are not parsed if the client has left', async () => {
    const { ask, contexts } = makeDoors()
    const responses = [makeResponse(), makeResponse(), makeResponse()] as const
    const asked = responses.map((response) => ask('large', LARGE, { response }))
    await new Promise((resolve) => process.nextTick(resolve))
    responses[1].destroy()
    responses[1].emit('close')
    // For a pipelined request, only the socket reports that the client has left.
    responses[2].req.socket.destroy()
    expect(await Promise.all(asked)).toEqual([200, 408, 408])
    expect(contexts).toHaveBeenCalledTimes(1)
  })

  it('in chunks are not parsed if the caller has used up its points meanwhile', async () => {
    const limits = makeRateLimits({ anonymous: { points: 1, perSeconds: 600 } }, undefined, { warn() {} })
    const { ask } = makeDoors({ limits })
    const statuses = await Promise.all([ask('large', LARGE), ask('broken', LARGE, { end: '' })])
    expect(statuses).toEqual([429, 429])
  })

  it('in chunks cost a point per kilobyte', async () => {
    const limits = makeRateLimits({ anonymous: { points: 250, perSeconds: 600 } }, undefined, { warn() {} })
    const { ask } = makeDoors({ limits })
    // Preparing costs points for its time, so another caller pays for it.
    await ask('first', 10, { address: '192.0.2.1' })
    const statuses: number[] = []
    for (let count = 0; count < 4; count++) statuses.push(await ask('large', LARGE))
    expect(statuses).toEqual([200, 200, 429, 429])
    expect(await ask('of another address', LARGE, { address: '203.0.113.1' })).toBe(200)
  })

  it('count as held bytes until their turn', async () => {
    const { front, ask } = makeDoors({ heldBytesMax: 2 * LARGE })
    const hold = (): ServerResponse => {
      const response = makeResponse({ 'content-length': String(LARGE) })
      holdBody(front.heldBytes, response.req, response, 1_000_000)
      response.req.emit('end')
      return response
    }
    const isCut = ({ req }: ServerResponse): boolean => req.socket.destroyed
    const parsed = hold()
    expect(await ask('large', LARGE, { response: parsed })).toBe(200)
    const waiting = [hold(), hold(), hold()]
    const statuses = await Promise.all(waiting.map((response) => ask('large', LARGE, { response })))
    expect(isCut(parsed)).toBe(false)
    expect(waiting.map(isCut)).toEqual([true, true, false])
    expect(statuses).toEqual([408, 408, 200])
  })
})

describe('large bodies of declared length', () => {
  it('cost a point per kilobyte, and are refused before they arrive', async () => {
    const limits = makeRateLimits({ anonymous: { points: 250, perSeconds: 600 }, sharedAddresses: [] }, undefined, { warn() {} })
    const server = await startServer({ more: { limits }, bodyBytesMax: 1_000_000 })
    const body = `{"query":"{ hello }","extensions":{"fill":"${'x'.repeat(LARGE)}"}}`
    const statuses: number[] = []
    for (let count = 0; count < 3; count++) statuses.push((await post(server.url, body)).status)
    expect(statuses).toEqual([200, 200, 429])
    const { host } = new URL(server.url)
    const socket = connect(Number(host.split(':')[1]), '127.0.0.1')
    socket.write(`POST /graphql HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1.1 429 [^]*RATE_LIMITED/)
    // The connection can be used again after the body.
    socket.write(`${body}GET /health/live HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
    const [next] = (await once(socket, 'data')) as [Buffer]
    expect(next.toString()).toMatch(/^HTTP\/1.1 200 /)
    socket.destroy()
    await server.close()
  })

  it('of a blocked caller close the connection, and those of a refused caller do not', async () => {
    const options = { anonymous: { points: 150, perSeconds: 600 }, abuse: { refusals: 2, perSeconds: 600, blockSeconds: 600 } }
    const limits = makeRateLimits(options, undefined, { warn() {} })
    const server = await startServer({ more: { limits }, bodyBytesMax: 1_000_000 })
    const body = `{"query":"{ hello }","extensions":{"fill":"${'x'.repeat(LARGE)}"}}`
    const answers = []
    for (let count = 0; count < 5; count++) {
      const { status, headers } = await post(server.url, body)
      answers.push([status, headers.get('connection')])
    }
    expect(answers).toEqual([
      [200, 'keep-alive'],
      [429, 'keep-alive'],
      [429, 'keep-alive'],
      [429, 'keep-alive'],
      [429, 'close'],
    ])
    await server.close()
  })

  it.each([
    ['100,001 values', '0,'.repeat(100_000)],
    ['50,001 objects', '{},'.repeat(50_001)],
  ])('%s are refused, and the same number inside a string is not', async (_, values) => {
    const server = await startServer({ bodyBytesMax: 1_000_000 })
    const bodyOf = (fill: string) => `{"query":"{ hello }","extensions":{"fill":${fill}}}`
    const refused = await post(server.url, bodyOf(`[${values}0]`))
    expect(refused.status).toBe(400)
    expect(JSON.stringify(refused.json)).toContain('the body has more than 100000 values: send it in several calls')
    expect((await post(server.url, bodyOf(`"${values}"`))).status).toBe(200)
    await server.close()
  })
})

describe('event streams', () => {
  it('with a wrong token are refused before the body is parsed', async () => {
    const server = await startServer({ auth: { secret: 'a secret of at least thirty-two characters' } })
    const { status } = await post(server.url, '{"broken', { accept: STREAM, authorization: 'Bearer a.b.c' })
    expect(status).toBe(401)
    await server.close()
  })

  it('of a client that prefers JSON are parsed once', async () => {
    const server = await startServer()
    const parse = vi.spyOn(JSON, 'parse')
    const body = '{"query":"subscription { ticks(count: 1) }"}'
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: `application/json, ${STREAM}` },
      body,
    })
    expect(await response.text()).toContain('"ticks":1')
    expect(parse.mock.calls.filter(([text]) => text === body)).toHaveLength(1)
    parse.mockRestore()
    await server.close()
  })
})

describe('large messages', () => {
  it('are handled before later messages of the socket', async () => {
    const server = await startServer({ bodyBytesMax: 1_000_000 })
    const socket = await openSocket(server.url)
    const types: string[] = []
    socket.on('message', (data: Buffer) => types.push((JSON.parse(data.toString()) as { type: string }).type))
    socket.send(subscribe('subscription { changes }'))
    socket.send('{"type":"complete","id":"1"}')
    socket.send('{"type":"ping"}')
    await eventually(() => expect(types).toEqual(['pong']))
    await eventually(() => expect(server.sources.size).toBe(0))
    socket.terminate()
    await server.close()
  })
})

async function openSocket(url: string): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  await new Promise((resolve) => socket.once('open', resolve))
  socket.send('{"type":"connection_init"}')
  await new Promise((resolve) => socket.once('message', resolve))
  return socket
}

function subscribe(query: string): string {
  return JSON.stringify({ type: 'subscribe', id: '1', payload: { query, extensions: { fill: 'x'.repeat(LARGE) } } })
}
