import type { ServerResponse } from 'node:http'
import { ApolloServer } from '@apollo/server'
import { startStandaloneServer } from '@apollo/server/standalone'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeEventParser } from '../../../gateway/transports/event-stream.ts'
import { connectTo, fetchOf, json, refusalOf, startSubgraph } from './http-subgraph.ts'
import type { HttpSubgraph } from './http-subgraph.ts'
import type { FetchResult } from '../../../gateway/transports/transport.ts'
import type { RemoteOptions } from '../../../gateway/transports/remote-transport.ts'

const TEXT = 'subscription { added }'

function next(n: unknown): string {
  return `event: next\ndata: ${JSON.stringify({ data: { added: n } })}\n\n`
}

function begin(response: ServerResponse, text = ''): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  response.write(text || ':\n\n')
}

async function open(subgraph: HttpSubgraph, options: Partial<RemoteOptions> = {}): Promise<AsyncIterator<FetchResult>> {
  const opened = await fetchOf(connectTo(subgraph, options), TEXT, 'subscription').subscribe({}, {})
  if (!('next' in opened)) throw new Error(`no stream: ${JSON.stringify(opened)}`)
  return opened
}

async function all(stream: AsyncIterator<FetchResult>): Promise<unknown[]> {
  const values: unknown[] = []
  for (let step = await stream.next(); step.done !== true; step = await stream.next()) values.push(step.value.data?.['added'])
  return values
}

describe('a subscription', () => {
  test('a subscription is a POST that accepts an event stream, and ends with "complete"', async () => {
    const subgraph = await startSubgraph((_, response) => begin(response, `${next(1)}${next(2)}event: complete\ndata:\n\n`))
    expect(await all(await open(subgraph))).toEqual([1, 2])
    expect(subgraph.received[0]?.headers.accept).toBe('text/event-stream')
    expect(JSON.parse(subgraph.received[0]?.body ?? '')).toEqual({ query: TEXT, variables: {} })
  })

  test('a subscription reads events in any chunks, with either line ending, comments and ids', async () => {
    const text = `: hello\r\nid: 7\r\nevent: next\r\ndata: {"data":\r\ndata: {"added":"ü💾"}}\r\n\r\n:\n\nevent:next\ndata:{"data":{"added":2}}\n\nevent: ping\ndata: 1\n\nevent: complete\n\n`
    for (const size of [1, 3, 1_000]) {
      const subgraph = await startSubgraph((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const bytes = Buffer.from(text)
        let at = 0
        const more = (): void => {
          if (at >= bytes.length) return
          response.write(bytes.subarray(at, (at += size)))
          setImmediate(more)
        }
        more()
      })
      expect(await all(await open(subgraph))).toEqual(['ü💾', 2])
    }
  })

  test('a subscription may be silent for longer than the timeout of a call', async () => {
    const subgraph = await startSubgraph((_, response) => {
      begin(response)
      setTimeout(() => response.write(`${next(1)}event: complete\n\n`), 200)
    })
    expect(await all(await open(subgraph, { timeoutMs: 50 }))).toEqual([1])
  })

  test('a subscription that the client ends also ends in the subgraph', async () => {
    let closed = false
    const subgraph = await startSubgraph((_, response) => {
      begin(response, next(1))
      response.on('close', () => (closed = true))
    })
    const stream = await open(subgraph)
    expect((await stream.next()).done).toBe(false)
    const waiting = stream.next()
    await stream.return?.()
    expect((await waiting).done).toBe(true)
    await expect.poll(() => closed).toBe(true)
  })

  test('a subscription ends in the subgraph when the transport closes', async () => {
    let closed = false
    const subgraph = await startSubgraph((_, response) => {
      begin(response, next(1))
      response.on('close', () => (closed = true))
    })
    const transport = connectTo(subgraph)
    const stream = (await fetchOf(transport, TEXT, 'subscription').subscribe({}, {})) as AsyncIterator<FetchResult>
    await stream.next()
    const waiting = refusalOf(stream.next())
    await transport.close()
    expect((await waiting).code).toBe('SUBGRAPH_UNAVAILABLE')
    await expect.poll(() => closed).toBe(true)
  })

  test('a refused subscription gives the errors', async () => {
    const subgraph = await startSubgraph((_, response) =>
      json(response, { errors: [{ message: 'not you', extensions: { code: 'FORBIDDEN' } }] }, 403),
    )
    expect(await fetchOf(connectTo(subgraph), TEXT, 'subscription').subscribe({}, {})).toMatchObject({
      data: null,
      errors: [{ message: 'not you', extensions: { code: 'FORBIDDEN' } }],
    })
  })

  test('Apollo Server, which sends no event streams, gives an error with a message for the client', async () => {
    const typeDefs = 'type Query { a: Int } type Subscription { added: Int }'
    const server = new ApolloServer({ typeDefs })
    onTestFinished(() => server.stop())
    const subgraph = await startStandaloneServer(server, { listen: { port: 0, host: '127.0.0.1' } })
    expect(await refusalOf(fetchOf(connectTo(subgraph), TEXT, 'subscription').subscribe({}, {}))).toMatchObject({
      code: 'SUBSCRIPTIONS_NOT_SERVED',
      message: 'the subgraph "videos" sends no event streams: repeat a query instead',
    })
  })

  test('any number of subscriptions leaves connections for queries', async () => {
    const subgraph = await startSubgraph(({ body }, response) =>
      body.includes('subscription') ? begin(response, next(1)) : json(response, { data: { a: 1 } }),
    )
    const transport = connectTo(subgraph, { connectionsMax: 1 })
    for (let each = 0; each < 5; each += 1) await fetchOf(transport, TEXT, 'subscription').subscribe({}, {})
    expect(await fetchOf(transport, '{ a }').run({}, {})).toEqual({ data: { a: 1 } })
  })
})

describe('a subscription that fails', () => {
  test('a stream that breaks, or ends without "complete", gives an error after its events', async () => {
    for (const end of [(response: ServerResponse) => response.socket?.destroy(), (response: ServerResponse) => response.end()]) {
      const subgraph = await startSubgraph((_, response) => {
        begin(response, next(1))
        setTimeout(() => end(response), 10)
      })
      const stream = await open(subgraph)
      expect((await stream.next()).value).toEqual({ data: { added: 1 } })
      expect(await refusalOf(stream.next())).toMatchObject({
        code: 'SUBGRAPH_UNAVAILABLE',
        message: 'the subgraph "videos" cannot be reached, or closed the connection: try again',
      })
      expect((await stream.next()).done).toBe(true)
    }
  })

  test('an event that is not a GraphQL result ends the stream', async () => {
    const subgraph = await startSubgraph((_, response) => begin(response, `${next(1)}event: next\ndata: hello\n\n${next(2)}`))
    const stream = await open(subgraph)
    await stream.next()
    expect((await refusalOf(stream.next())).code).toBe('SUBGRAPH_UNAVAILABLE')
  })

  test('an endless event is cut off', async () => {
    let closed = false
    const subgraph = await startSubgraph((_, response) => {
      begin(response, 'event: next\n')
      response.on('close', () => (closed = true))
      const chunk = `data: ${'x'.repeat(1_000)}\n`
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
      }
      response.on('drain', more)
      more()
    })
    const stream = await open(subgraph, { bodyBytesMax: 100_000 })
    expect((await refusalOf(stream.next())).message).toBe('the subgraph "videos" sent more than 100000 bytes: ask for less')
    await expect.poll(() => closed).toBe(true)
  })

  test('events that no reader takes stay in the subgraph', async () => {
    let sent = 0
    const subgraph = await startSubgraph((_, response) => {
      begin(response)
      const more = (): void => {
        while (!response.destroyed && sent < 100_000 && response.write(next('x'.repeat(1_000)))) sent += 1
      }
      response.on('drain', more)
      more()
    })
    const stream = await open(subgraph)
    let before = -1
    while (sent !== before) {
      before = sent
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
    expect(sent).toBeLessThan(100_000)
    for (let each = 0; each < 500; each += 1) expect((await stream.next()).done).toBe(false)
    await stream.return?.()
  })

  test('a subgraph that does not open the stream in time, or sends another answer, is unavailable', async () => {
    const silent = await startSubgraph(() => {})
    const late = await refusalOf(fetchOf(connectTo(silent, { timeoutMs: 100 }), TEXT, 'subscription').subscribe({}, {}))
    expect(late.code).toBe('SUBGRAPH_UNAVAILABLE')
    expect(late.ms).toBeLessThan(4_000)
    const html = await startSubgraph((_, response) => response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>'))
    expect((await refusalOf(fetchOf(connectTo(html), TEXT, 'subscription').subscribe({}, {}))).message).toContain('HTTP 404 and text/html')
  })
})

test('an event of megabytes in many packets costs linear time', () => {
  const texts: string[] = []
  const parse = makeEventParser(
    16_000_000,
    (_, data) => texts.push(data),
    () => texts.push('too large'),
  )
  const long = 'x'.repeat(8_000_000)
  const text = `event: next\ndata: ${long}\n\nevent: next\ndata: 2\n\n`
  const begun = process.cpuUsage()
  for (let at = 0; at < text.length; at += 1_448) parse(text.slice(at, at + 1_448))
  const { user, system } = process.cpuUsage(begun)
  expect((user + system) / 1_000).toBeLessThan(800)
  expect(texts.map(({ length }) => length)).toEqual([8_000_000, 1])
})
