import { describe, expect, test } from 'vitest'
import type { CallReport } from '../../../gateway/transports/subgraph-client.ts'
import { connectTo, fetchOf, json, refusalOf, startSubgraph } from './http-subgraph.ts'
import type { Handler } from './http-subgraph.ts'

const QUERY = '{ numbers }'
const data = { data: { numbers: [1, 2] } }

describe('a call', () => {
  test('a call sends operation and variables as JSON, accepts both media types, and gives data and errors', async () => {
    const subgraph = await startSubgraph((_, response) =>
      json(response, { data: { a: null }, errors: [{ message: 'no', path: ['a'], locations: [], extensions: { code: 'X' } }] }),
    )
    const fetch = connectTo(subgraph).compile({
      kind: 'query',
      name: 'Q',
      text: 'query Q($x: Int) { a }',
      document: { kind: 'Document', definitions: [] } as never,
    })
    expect(await fetch.run({ x: 'ü"\n' }, {})).toMatchObject({
      data: { a: null },
      errors: [{ message: 'no', path: ['a'], extensions: { code: 'X' } }],
    })
    const [{ body, headers } = { body: '', headers: {} }] = subgraph.received
    expect(JSON.parse(body)).toEqual({ query: 'query Q($x: Int) { a }', operationName: 'Q', variables: { x: 'ü"\n' } })
    expect(headers).toMatchObject({ 'content-type': 'application/json', accept: 'application/graphql-response+json, application/json' })
    expect(headers['accept-encoding']).toBeUndefined()
  })

  test('calls reuse connections', async () => {
    const subgraph = await startSubgraph((_, response) => json(response, data))
    const fetch = fetchOf(connectTo(subgraph), QUERY)
    for (let call = 0; call < 20; call += 1) expect(await fetch.run({ call }, {})).toEqual(data)
    // A second one, because the next call begins before the first connection counts as free.
    expect(subgraph.connections()).toBeLessThanOrEqual(2)
  })

  test('a call waits for a connection if all are in use', async () => {
    const subgraph = await startSubgraph((_, response) => void setTimeout(() => json(response, data), 5))
    const fetch = fetchOf(connectTo(subgraph, { connectionsMax: 2 }), QUERY)
    await Promise.all(Array.from({ length: 20 }, (_, call) => fetch.run({ call }, {})))
    expect(subgraph.received).toHaveLength(20)
    expect(subgraph.connections()).toBeLessThanOrEqual(2)
  })

  test('errors with a status are the result, with their codes', async () => {
    const subgraph = await startSubgraph((_, response) =>
      json(response, { errors: [{ message: 'full', extensions: { code: 'STORE_FULL' } }] }, 507),
    )
    expect(await fetchOf(connectTo(subgraph), QUERY).run({}, {})).toMatchObject({
      data: null,
      errors: [{ message: 'full', extensions: { code: 'STORE_FULL' } }],
    })
  })

  test('texts that the network cuts within a character stay whole', async () => {
    const bytes = Buffer.from(JSON.stringify({ data: { text: 'üß💾' } }))
    const subgraph = await startSubgraph((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      let at = 0
      const next = (): void => {
        if (at === bytes.length) return void response.end()
        response.write(bytes.subarray(at, (at += 1)))
        setImmediate(next)
      }
      next()
    })
    expect(await fetchOf(connectTo(subgraph), QUERY).run({}, {})).toEqual({ data: { text: 'üß💾' } })
  })
})

describe('an invalid answer', () => {
  const answers: [string, number, string, string][] = [
    ['HTML', 200, 'text/html; charset=utf-8', '<html><body>Welcome</body></html>'],
    ['HTTP 500 with HTML', 500, 'text/html', '<h1>Internal Server Error</h1>'],
    ['HTTP 500 with nothing', 500, 'text/plain', ''],
    ['truncated JSON', 200, 'application/json', '{"data":{"numbers":[1,'],
    ['JSON that is not an object', 200, 'application/json', '[1,2]'],
    ['JSON null', 200, 'application/json', 'null'],
    ['JSON that is not a GraphQL result', 200, 'application/json', '{"hello":"world"}'],
    ['data that is a text', 200, 'application/json', '{"data":"numbers"}'],
    ['data that is a text beside errors', 200, 'application/json', '{"data":"numbers","errors":[{"message":"x"}]}'],
    ['data that is a list', 200, 'application/json', '{"data":[1]}'],
    ['data null without errors', 200, 'application/json', '{"data":null}'],
    ['errors that are not a list', 200, 'application/json', '{"data":{"a":1},"errors":{"message":"x"}}'],
    ['errors without messages, and no data', 200, 'application/json', '{"errors":[1,null,{"message":2}]}'],
    ['a redirection', 302, 'text/html', 'moved'],
    ['compressed bytes', 200, 'application/json', '\u001f\u008b\u0008'],
  ]
  for (const [name, status, contentType, body] of answers) {
    test(`${name} is SUBGRAPH_UNAVAILABLE, with its status and no address`, async () => {
      const subgraph = await startSubgraph((_, response) =>
        response.writeHead(status, { 'content-type': contentType, location: '/elsewhere' }).end(body),
      )
      const { code, message } = await refusalOf(fetchOf(connectTo(subgraph), QUERY).run({}, {}))
      expect(code).toBe('SUBGRAPH_UNAVAILABLE')
      expect(message).toContain(`HTTP ${status} and ${contentType.split(';')[0]}`)
      expect(message).not.toContain(String(subgraph.port))
      expect(subgraph.received).toHaveLength(1)
    })
  }

  test('a script as media type is not in the message', async () => {
    const subgraph = await startSubgraph((_, response) => response.writeHead(200, { 'content-type': '<script>' }).end('x'))
    expect((await refusalOf(fetchOf(connectTo(subgraph), QUERY).run({}, {}))).message).not.toContain('script')
  })

  test('a thousand of a million errors are kept', async () => {
    const errors = Array.from({ length: 100_000 }, () => ({ message: 'x' }))
    const subgraph = await startSubgraph((_, response) => json(response, { data: null, errors }))
    expect((await fetchOf(connectTo(subgraph), QUERY).run({}, {})).errors).toHaveLength(1_000)
  })
})

describe('limits', () => {
  test('an answer with an announced length above the limit is not read', async () => {
    const subgraph = await startSubgraph((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100_000_000 })
      response.write('{"data":')
    })
    const { code, message, ms } = await refusalOf(fetchOf(connectTo(subgraph, { bodyBytesMax: 1_000 }), QUERY).run({}, {}))
    expect({ code, message }).toEqual({
      code: 'SUBGRAPH_UNAVAILABLE',
      message: 'the subgraph "videos" sent more than 1000 bytes: ask for less',
    })
    expect(ms).toBeLessThan(3_000)
  })

  test('an endless answer is cut off at the limit, and needs little memory', async () => {
    const chunk = Buffer.alloc(65_536, 'x')
    let sent = 0
    const subgraph = await startSubgraph((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const more = (): void => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length
      }
      response.on('drain', more)
      more()
    })
    const before = process.memoryUsage().rss
    const fetch = fetchOf(connectTo(subgraph, { bodyBytesMax: 4_194_304, timeoutMs: 5_000 }), QUERY)
    const refusals = await Promise.all(Array.from({ length: 5 }, (_, call) => refusalOf(fetch.run({ call }, {}))))
    for (const { code, ms } of refusals) {
      expect(code).toBe('SUBGRAPH_UNAVAILABLE')
      expect(ms).toBeLessThan(4_000)
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000)
    const sentThen = sent
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(sent - sentThen).toBeLessThan(chunk.length * 100)
  })

  const slow: [string, Parameters<typeof startSubgraph>[0]][] = [
    ['says nothing', () => {}],
    ['stops after the headers', (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{')],
    [
      'sends a byte at a time for ever',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        const timer = setInterval(() => response.write(' '), 5)
        response.on('close', () => clearInterval(timer))
      },
    ],
  ]
  for (const [name, handler] of slow) {
    test(`a call of a subgraph that ${name} ends after timeoutMs, and is not tried again`, async () => {
      const subgraph = await startSubgraph(handler)
      const { code, message, ms } = await refusalOf(fetchOf(connectTo(subgraph, { timeoutMs: 100 }), QUERY).run({}, {}))
      expect({ code, message }).toEqual({
        code: 'SUBGRAPH_UNAVAILABLE',
        message: 'the subgraph "videos" did not answer within 100 ms: try again, or ask for less',
      })
      expect(ms).toBeGreaterThanOrEqual(80)
      expect(ms).toBeLessThan(4_000)
      expect(subgraph.received).toHaveLength(1)
    })
  }

  test('a connection of a call that timed out is not used again', async () => {
    const subgraph = await startSubgraph(() => {})
    const fetch = fetchOf(connectTo(subgraph, { timeoutMs: 50, connectionsMax: 1 }), QUERY)
    await refusalOf(fetch.run({}, {}))
    subgraph.handle((_, response) => json(response, data))
    expect(await fetch.run({}, {})).toEqual(data)
    expect(subgraph.connections()).toBe(2)
  })

  test('a call that waits for a connection times out too', async () => {
    const subgraph = await startSubgraph(() => {})
    const fetch = fetchOf(connectTo(subgraph, { timeoutMs: 100, connectionsMax: 1 }), QUERY)
    const refusals = await Promise.all([1, 2, 3].map((call) => refusalOf(fetch.run({ call }, {}))))
    for (const { ms } of refusals) expect(ms).toBeLessThan(4_000)
  })
})

describe('tries', () => {
  test('a query is tried again after 502, 503 or 504 of a proxy', async () => {
    const statuses = [502, 503]
    const subgraph = await startSubgraph((_, response) => {
      const status = statuses.shift()
      if (status === undefined) json(response, data)
      else response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>')
    })
    const reports: CallReport[] = []
    expect(await fetchOf(connectTo(subgraph, { report: (call) => void reports.push(call) }), QUERY).run({}, {})).toEqual(data)
    expect(reports).toMatchObject([{ subgraph: 'videos', kind: 'query', outcome: 'answered', tries: 3 }])
  })

  test('a query is tried again after a broken connection, at most `retries` times', async () => {
    const subgraph = await startSubgraph((_, __, socket) => void socket.destroy())
    const { code, message } = await refusalOf(fetchOf(connectTo(subgraph, { retries: 2 }), QUERY).run({}, {}))
    expect({ code, message }).toEqual({
      code: 'SUBGRAPH_UNAVAILABLE',
      message: 'the subgraph "videos" cannot be reached, or closed the connection: try again',
    })
    expect(subgraph.received).toHaveLength(3)
  })

  test('a query is tried again after a connection that breaks within the answer', async () => {
    let calls = 0
    const subgraph = await startSubgraph((_, response, socket) => {
      calls += 1
      if (calls > 1) return json(response, data)
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 }).write('{"data":')
      setTimeout(() => socket.destroy(), 5)
    })
    expect(await fetchOf(connectTo(subgraph), QUERY).run({}, {})).toEqual(data)
  })

  test('a mutation is never tried again', async () => {
    const handlers: Handler[] = [(_, __, socket) => void socket.destroy(), (_, response) => json(response, '<', 503)]
    for (const handler of handlers) {
      const subgraph = await startSubgraph(handler)
      expect((await refusalOf(fetchOf(connectTo(subgraph), 'mutation { add }', 'mutation').run({}, {}))).code).toBe('SUBGRAPH_UNAVAILABLE')
      expect(subgraph.received).toHaveLength(1)
    }
  })

  test('a 503 with a GraphQL result is returned after the last try', async () => {
    const subgraph = await startSubgraph((_, response) =>
      json(response, { errors: [{ message: 'drains', extensions: { code: 'SHUTTING_DOWN' } }] }, 503),
    )
    expect((await fetchOf(connectTo(subgraph), QUERY).run({}, {})).errors).toMatchObject([
      { message: 'drains', extensions: { code: 'SHUTTING_DOWN' } },
    ])
    expect(subgraph.received).toHaveLength(3)
  })

  test('tries end when the time is up', async () => {
    const subgraph = await startSubgraph((_, response) => void setTimeout(() => json(response, '<', 503), 40))
    const { ms } = await refusalOf(fetchOf(connectTo(subgraph, { timeoutMs: 100, retries: 100 }), QUERY).run({}, {}))
    expect(ms).toBeLessThan(3_000)
  })

  test('a try has only the rest of the time', async () => {
    let calls = 0
    const subgraph = await startSubgraph((_, response) => {
      calls += 1
      if (calls === 1) setTimeout(() => json(response, '<', 503), 1_200)
    })
    const { ms } = await refusalOf(fetchOf(connectTo(subgraph, { timeoutMs: 2_000 }), QUERY).run({}, {}))
    expect(calls).toBe(2)
    expect(ms).toBeLessThan(2_500)
  })

  test('an unreachable host is reported at once, with the address in the cause only', async () => {
    const subgraph = await startSubgraph(() => {})
    await subgraph.close()
    const reports: CallReport[] = []
    const { code, message, ms, cause } = await refusalOf(
      fetchOf(connectTo(subgraph, { report: (call) => void reports.push(call) }), QUERY).run({}, {}),
    )
    expect(code).toBe('SUBGRAPH_UNAVAILABLE')
    expect(message).not.toContain('127.0.0.1')
    expect(String(cause)).toContain(`127.0.0.1:${subgraph.port}`)
    expect(reports).toMatchObject([{ outcome: 'failed', tries: 3 }])
    expect(ms).toBeLessThan(3_000)
  })

  test('a call with invalid headers is not tried again', async () => {
    const subgraph = await startSubgraph((_, response) => json(response, data))
    const fetch = fetchOf(connectTo(subgraph, { headers: () => ({ authorization: 'a\nb' }) }), QUERY)
    expect((await refusalOf(fetch.run({}, {}))).message).toBe(
      'the subgraph "videos" was not asked, because its request headers are not valid: correct them',
    )
    expect(subgraph.received).toHaveLength(0)
  })
})

describe('a subgraph that is down', () => {
  test('requests do not ask a subgraph after failuresMax failures, and ask it again when it is back', async () => {
    const subgraph = await startSubgraph((_, __, socket) => void socket.destroy())
    const transport = connectTo(subgraph, { failuresMax: 3, checkEveryMs: 20, retries: 0 })
    const fetch = fetchOf(transport, QUERY)
    for (let call = 0; call < 3; call += 1) await refusalOf(fetch.run({ call }, {}))
    expect(transport.isDown()).toBe(true)
    const { code, message, ms } = await refusalOf(fetch.run({}, {}))
    expect({ code, message }).toEqual({
      code: 'SUBGRAPH_UNAVAILABLE',
      message: 'the subgraph "videos" is down and is checked every 20 ms: try again',
    })
    expect(ms).toBeLessThan(2_000)
    subgraph.handle((_, response) => json(response, data))
    await expect.poll(() => transport.isDown()).toBe(false)
    expect(subgraph.received.at(-1)?.body).toBe('{"query":"{ __typename }"}')
    expect(await fetch.run({}, {})).toEqual(data)
  })

  test('failures with an answer between them do not add up, and HTTP 500 is not counted', async () => {
    let call = 0
    const subgraph = await startSubgraph((_, response, socket) => {
      call += 1
      if (call % 3 === 0) json(response, data)
      else if (call % 3 === 1) socket.destroy()
      else json(response, '<h1>', 500)
    })
    const transport = connectTo(subgraph, { failuresMax: 2, retries: 0 })
    const fetch = fetchOf(transport, QUERY)
    for (let each = 0; each < 12; each += 1) await Promise.allSettled([fetch.run({ each }, {})])
    expect(transport.isDown()).toBe(false)
  })
})

describe('headers', () => {
  test('headers come from the context of the request, also asynchronously', async () => {
    const subgraph = await startSubgraph((_, response) => json(response, data))
    const headers = async (context: object) => ({ 'x-viewer': String((context as { viewer?: number }).viewer) })
    await fetchOf(connectTo(subgraph, { headers, traceHeaders: () => ({ traceparent: '00-1' }) }), QUERY).run({}, { viewer: 7 })
    expect(subgraph.received[0]?.headers).toMatchObject({ 'x-viewer': '7', traceparent: '00-1' })
  })

  test('headers that fail fail the call, not the process', async () => {
    const subgraph = await startSubgraph((_, response) => json(response, data))
    const fetch = fetchOf(connectTo(subgraph, { headers: () => Promise.reject(new Error('no key')) }), QUERY)
    await expect(fetch.run({}, {})).rejects.toThrow('no key')
  })
})

describe('close', () => {
  test('close waits for running calls, then closes the connections', async () => {
    const subgraph = await startSubgraph((_, response) => void setTimeout(() => json(response, data), 50))
    const transport = connectTo(subgraph)
    const under = fetchOf(transport, QUERY).run({}, {})
    await expect.poll(() => subgraph.received.length).toBe(1)
    const closed = transport.close()
    expect(await under).toEqual(data)
    await closed
    expect((await refusalOf(fetchOf(transport, QUERY).run({}, {}))).code).toBe('SUBGRAPH_UNAVAILABLE')
    await transport.close()
  })
})
