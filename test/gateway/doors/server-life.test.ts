import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { post, startServer, type TestServer } from '../../support/front-schema.ts'

const SECRET = 'a secret of at least thirty-two bytes'

describe('GraphiQL', () => {
  it('opens in development at /graphql, complete and compressed', async () => {
    const server = await startServer()
    const response = await fetch(`${server.url}/graphql`, { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } })
    const html = await response.text()
    expect([response.status, response.headers.get('content-encoding'), response.headers.get('content-type')]).toEqual([
      200,
      'gzip',
      'text/html; charset=utf-8',
    ])
    expect(html).toMatch(/^<!doctype html>/)
    expect(html).toContain('viewerHistory(first: 10)')
    expect(html).toContain('x-viewer-id')
    expect(html).not.toMatch(/<(script|link|img|iframe)[^>]+(src|href)="?(https?:)?\/\//)
    const plain = await fetch(`${server.url}/graphql`, { headers: { accept: 'text/html', 'accept-encoding': 'identity' } })
    expect(plain.headers.get('content-encoding')).toBeNull()
    expect((await plain.text()).length).toBeGreaterThan(1_000_000)
    await server.close()
  })

  it('is absent in production', async () => {
    const server = await startServer({ mode: 'production', auth: { secret: SECRET } })
    expect((await fetch(`${server.url}/`, { headers: { accept: 'text/html' } })).status).toBe(404)
    expect((await fetch(`${server.url}/graphql`, { headers: { accept: 'text/html' } })).status).toBe(406)
    await server.close()
  })
})

describe('health and metrics', () => {
  const servers: TestServer[] = []
  afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())))

  it('a live process may be not ready', async () => {
    const readiness = { ok: true, stores: { hot: 'ok', log: 'ok' } }
    const server = await startServer({ ready: async () => readiness })
    servers.push(server)
    expect((await fetch(`${server.url}/health/live`)).status).toBe(200)
    const ready = await fetch(`${server.url}/health/ready`)
    expect([ready.status, await ready.json()]).toEqual([200, readiness])
    Object.assign(readiness, { ok: false, stores: { hot: 'ok', log: 'the log does not answer' } })
    const unready = await fetch(`${server.url}/health/ready`)
    expect([unready.status, await unready.json()]).toEqual([503, readiness])
    expect((await fetch(`${server.url}/health/live`)).status).toBe(200)
  })

  it('a failing check means not ready', async () => {
    const server = await startServer({ ready: () => Promise.reject(new Error('no answer')) })
    servers.push(server)
    const response = await fetch(`${server.url}/health/ready`)
    expect([response.status, await response.json()]).toEqual([503, expect.objectContaining({ ok: false })])
  })

  it('requests are counted by kind, name and outcome', async () => {
    const server = await startServer()
    servers.push(server)
    await post(server.url, { query: 'query Feed { hello }' })
    await post(server.url, { query: 'query Feed { hello }' })
    await post(server.url, { query: '{ down }' })
    await post(server.url, { query: 'mutation Report { report(oid: "1") }' })
    await post(server.url, { query: '{' })
    const response = await fetch(`${server.url}/metrics`)
    expect(response.headers.get('content-type')).toContain('text/plain')
    const text = await response.text()
    expect(text).toContain('tidemark_gateway_requests_total{kind="query",name="Feed",outcome="ok"} 2')
    expect(text).toContain('tidemark_gateway_requests_total{kind="query",name="anonymous",outcome="errors"} 1')
    expect(text).toContain('tidemark_gateway_requests_total{kind="mutation",name="Report",outcome="ok"} 1')
    expect(text).toContain('tidemark_gateway_requests_total{kind="unknown",name="anonymous",outcome="refused"} 1')
    expect(text).toContain('tidemark_gateway_request_seconds_count{kind="query"} 3')
    expect(text).toContain('tidemark_gateway_failed_total{kind="query"} 1')
    expect(text).toContain('tidemark_gateway_failed_total{kind="unknown"} 0')
    expect(text).toContain('process_cpu_user_seconds_total')
    const again = await (await fetch(`${server.url}/metrics`)).text()
    expect(again).toContain('tidemark_gateway_requests_total{kind="query",name="Feed",outcome="ok"} 2')
    await post(server.url, { query: 'query Feed { hello }' })
    const later = await (await fetch(`${server.url}/metrics`)).text()
    expect(later).toContain('tidemark_gateway_requests_total{kind="query",name="Feed",outcome="ok"} 3')
  })

  it('at most 200 names are counted, and further names together', async () => {
    const server = await startServer()
    servers.push(server)
    for (let i = 0; i < 230; i++) await post(server.url, { query: `query Name${i} { hello }` })
    const text = await (await fetch(`${server.url}/metrics`)).text()
    expect(text.match(/requests_total\{kind="query"/g)).toHaveLength(201)
    expect(text).toContain('name="other",outcome="ok"} 30')
  })
})

describe('a shutdown', () => {
  it('answers the requests in flight, and accepts no new ones', async () => {
    const server = await startServer()
    const gate = server.hold()
    const inFlight = post(server.url, { query: '{ held }' })
    await gate.entered
    const closed = server.close()
    await expect(fetch(`${server.url}/health/live`)).rejects.toThrow()
    gate.open()
    expect((await inFlight).json).toEqual({ data: { held: true } })
    await closed
  })

  it('answers the requests in flight with connection: close, and later ones with SHUTTING_DOWN', async () => {
    const server = await startServer()
    const gate = server.hold()
    const open = () => {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
      const received: string[] = []
      socket.on('error', () => {})
      socket.on('data', (data) => received.push(String(data)))
      const closed = new Promise((resolve) => socket.once('close', resolve))
      return { socket, text: () => closed.then(() => received.join('')) }
    }
    const request = (query: string) => {
      const body = JSON.stringify({ query })
      return `POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    }
    const [held, late] = [open(), open()]
    held.socket.write(request('{ held }'))
    late.socket.write(request('{ hello }').slice(0, -5))
    await gate.entered
    await setTimeout(50)
    const closed = server.close()
    await setTimeout(20)
    late.socket.write(request('{ hello }').slice(-5))
    expect(await late.text()).toMatch(/connection: close[^]*SHUTTING_DOWN/)
    gate.open()
    expect(await held.text()).toMatch(/connection: close[^]*\{"data":\{"held":true\}\}$/)
    await closed
  })

  it('cuts requests that take longer than drainMaxMs', async () => {
    const server = await startServer({ drainMaxMs: 100 })
    const gate = server.hold()
    const inFlight = post(server.url, { query: '{ held }' })
    const cut = expect(inFlight).rejects.toThrow()
    await gate.entered
    const startedAt = performance.now()
    await server.close()
    expect(performance.now() - startedAt).toBeLessThan(2_000)
    await cut
    expect(server.logged).toContainEqual(expect.objectContaining({ requests: 1 }))
    gate.open()
  })

  it('may be started twice', async () => {
    const server = await startServer()
    await Promise.all([server.close(), server.close()])
  })

  it('does not wait for idle connections', async () => {
    const server = await startServer()
    await post(server.url, { query: '{ hello }' })
    const startedAt = performance.now()
    await server.close()
    expect(performance.now() - startedAt).toBeLessThan(1_000)
  })
})

it('a port that is in use is named in the error', async () => {
  const server = await startServer()
  const port = Number(new URL(server.url).port)
  await expect(startServer({ port })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining(`server.port ${port} of 127.0.0.1 is in use`),
  })
  await server.close()
})

it('the server can listen on localhost, on all addresses and on IPv6', async () => {
  for (const host of ['localhost', '0.0.0.0', '::1']) {
    const server = await startServer({ host }).catch((error: unknown) => {
      // A machine without IPv6 cannot test more.
      expect([host, (error as { code?: unknown }).code]).toEqual(['::1', 'CONFIG_INVALID'])
      return undefined
    })
    if (server === undefined) continue
    expect((await post(server.url, { query: '{ hello }' })).status).toBe(200)
    await server.close()
  }
})
