import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type TestServer } from '../../support/front-schema.ts'
import { eventually } from '../../../harness/until.ts'

type Event = { event: string; data: unknown }

/** An open event stream: its events one by one, and its comments. */
async function openStream(url: string, query: string, init: { method?: string; headers?: Record<string, string>; body?: string } = {}) {
  const abort = new AbortController()
  const headers = { accept: 'text/event-stream', 'content-type': 'application/json', ...init.headers }
  const method = init.method ?? 'POST'
  const response =
    method === 'GET'
      ? await fetch(`${url}/graphql?${String(new URLSearchParams({ query }))}`, { headers, signal: abort.signal })
      : await fetch(`${url}/graphql`, { method, headers, body: init.body ?? JSON.stringify({ query }), signal: abort.signal })
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  async function nextBlock(): Promise<string | undefined> {
    while (!text.includes('\n\n')) {
      const { done, value } = await reader.read()
      if (done) return undefined
      text += value
    }
    const end = text.indexOf('\n\n')
    const block = text.slice(0, end)
    text = text.slice(end + 2)
    return block
  }
  async function next(): Promise<Event | undefined> {
    const block = await nextBlock()
    if (block === undefined || block === ':') return block === ':' ? next() : undefined
    const [, event = '', data = ''] = /^event: (\w+)\ndata:(.*)$/.exec(block) ?? []
    return { event, data: data.trim() === '' ? undefined : (JSON.parse(data) as unknown) }
  }
  async function all(): Promise<Event[]> {
    const events: Event[] = []
    for (let event = await next(); event !== undefined; event = await next()) events.push(event)
    return events
  }
  return { response, next, nextBlock, all, abort: () => abort.abort() }
}

describe('a subscription over SSE', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ pingEveryMs: 50 })
  })
  afterAll(() => server.close())

  for (const method of ['POST', 'GET']) {
    it(`by ${method} has an event per result, then complete, then its end`, async () => {
      const stream = await openStream(server.url, 'subscription { ticks(count: 2) }', { method })
      expect(stream.response.status).toBe(200)
      expect(stream.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
      expect(await stream.all()).toEqual([
        { event: 'next', data: { data: { ticks: 1 } } },
        { event: 'next', data: { data: { ticks: 2 } } },
        { event: 'complete', data: undefined },
      ])
    })
  }

  it('sends events as they happen, and comments in between', async () => {
    const stream = await openStream(server.url, 'subscription { changes }')
    expect(await stream.nextBlock()).toBe(':')
    const [source] = server.sources
    source?.emit('first')
    expect(await stream.next()).toEqual({ event: 'next', data: { data: { changes: 'first' } } })
    stream.abort()
    await eventually(() => expect(server.sources.size).toBe(0))
  })

  it('ends at its source if the client leaves, even without an event', async () => {
    const stream = await openStream(server.url, 'subscription { changes }')
    await eventually(() => expect(server.sources.size).toBe(1))
    expect(await openSubscriptions(server)).toBe(1)
    stream.abort()
    await eventually(() => expect(server.sources.size).toBe(0))
    expect(await openSubscriptions(server)).toBe(0)
  })

  it('sends its refusal in an event, because a browser shows nothing else', async () => {
    const stream = await openStream(server.url, 'subscription { forbidden }')
    expect(stream.response.status).toBe(200)
    expect(await stream.all()).toEqual([
      { event: 'next', data: { errors: [expect.objectContaining({ extensions: { code: 'UNAUTHENTICATED' } })] } },
      { event: 'complete', data: undefined },
    ])
  })

  it('sends a validation error in an event', async () => {
    const stream = await openStream(server.url, 'subscription { nothing }')
    expect(await stream.all()).toEqual([
      { event: 'next', data: { errors: [expect.objectContaining({ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } })] } },
      { event: 'complete', data: undefined },
    ])
  })

  it('sends an error without details if the source breaks, and completes', async () => {
    const production = await startServer({ mode: 'production', auth: { secret: 'a secret of at least thirty-two bytes' } })
    const events = await (await openStream(production.url, 'subscription { breaks }')).all()
    expect(events[0]).toEqual({ event: 'next', data: { data: { breaks: 1 } } })
    expect(JSON.stringify(events)).toContain('INTERNAL')
    expect(JSON.stringify(events)).not.toContain('hunter2')
    expect(events.at(-1)).toEqual({ event: 'complete', data: undefined })
    await production.close()
  })

  it('opens for clients that name the event stream after JSON', async () => {
    const accept = 'application/graphql-response+json, application/json, text/event-stream'
    const stream = await openStream(server.url, 'subscription { ticks(count: 1) }', { headers: { accept } })
    expect(await stream.all()).toHaveLength(2)
    const query = await fetch(`${server.url}/graphql?query={hello}`, { headers: { accept } })
    expect(query.headers.get('content-type')).toContain('application/graphql-response+json')
  })
})

describe('other operations over SSE', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())

  it('have one result', async () => {
    expect(await (await openStream(server.url, '{ hello }')).all()).toEqual([
      { event: 'next', data: { data: { hello: 'hello world' } } },
      { event: 'complete', data: undefined },
    ])
    const mutation = await openStream(server.url, 'mutation { report(oid: "1") }', { headers: { 'x-viewer-id': '5' } })
    expect(await mutation.next()).toEqual({ event: 'next', data: { data: { report: '5:1' } } })
  })

  it('are refused with 405 if they are mutations by GET', async () => {
    const { response } = await openStream(server.url, 'mutation { report(oid: "1") }', { method: 'GET' })
    expect(response.status).toBe(405)
  })

  it('are refused as plain HTTP if the request or the viewer is wrong', async () => {
    expect((await openStream(server.url, '{ hello }', { headers: { authorization: 'Bearer a.b.c' } })).response.status).toBe(401)
    for (const body of ['{', '[]', '{}', '']) expect((await openStream(server.url, '', { body })).response.status).toBe(400)
    expect((await openStream(server.url, '{ hello }', { headers: { 'content-type': 'text/plain' } })).response.status).toBe(415)
    expect((await openStream(server.url, '{ hello }', { method: 'PUT' })).response.status).toBe(405)
  })
})

it('a shutdown ends streams without complete, so that clients reconnect', async () => {
  const server = await startServer()
  const stream = await openStream(server.url, 'subscription { changes }')
  await eventually(() => expect(server.sources.size).toBe(1))
  await server.close()
  expect(await stream.all()).toEqual([])
  expect(server.sources.size).toBe(0)
})

it('a slow reader slows its own source and fills no memory', async () => {
  const server = await startServer()
  const stream = await openStream(server.url, 'subscription { changes }')
  await eventually(() => expect(server.sources.size).toBe(1))
  const [source] = server.sources
  const change = 'x'.repeat(1_000_000)
  for (let i = 0; i < 50; i++) source?.emit(change)
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(source?.waitingToBeRead()).toBeGreaterThan(10)
  stream.abort()
  await server.close()
})

async function openSubscriptions(server: TestServer): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text()
  return Number(/^tidemark_gateway_subscriptions_open (\d+)$/m.exec(text)?.[1])
}

it('a stream ends with an error when its token expires', async () => {
  const secret = 'a secret of at least thirty-two bytes'
  const server = await startServer({ mode: 'production', auth: { secret } })
  const token = await new SignJWT({ sub: '42', exp: Math.floor(Date.now() / 1_000) + 4 })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(secret))
  const { all } = await openStream(server.url, 'subscription { changes }', { headers: { authorization: `Bearer ${token}` } })
  await eventually(() => expect(server.sources.size).toBe(1))
  expect(await all()).toEqual([
    { event: 'next', data: { errors: [expect.objectContaining({ extensions: { code: 'TOKEN_EXPIRED' } })] } },
    { event: 'complete', data: undefined },
  ])
  expect(server.sources.size).toBe(0)
  await server.close()
})
