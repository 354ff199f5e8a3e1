import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { startServer, type TestServer } from '../../support/front-schema.ts'

const servers: TestServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})
async function open(origins?: string[], credentials = false): Promise<string> {
  const hosts = ['dev.example']
  const server = await startServer(origins === undefined ? { hosts } : { hosts, cors: { origins, credentials } })
  servers.push(server)
  return `${server.url}/graphql`
}
const SITE = 'https://app.example'
const preflight = (url: string, origin = SITE) =>
  fetch(url, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
  })
const allowed = (response: Response) => response.headers.get('access-control-allow-origin')

describe('a page of another origin', () => {
  it('gets no CORS header if no origin is configured', async () => {
    const url = await open()
    expect(
      allowed(
        await fetch(url, { method: 'POST', headers: { origin: SITE, 'content-type': 'application/json' }, body: '{"query":"{hello}"}' }),
      ),
    ).toBeNull()
    expect(allowed(await preflight(url))).toBeNull()
  })

  it('may call if it is listed, by POST, GET and streams, and can read errors', async () => {
    const url = await open([SITE])
    const roads: [string, RequestInit][] = [
      [url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"query":"{hello}"}' }],
      [url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"query":"{"}' }],
      [url, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{hello}' }],
      [`${url}?query={hello}`, {}],
      [`${url}?query=subscription{ticks(count:1)}`, { headers: { accept: 'text/event-stream' } }],
      [url.replace('/graphql', '/nowhere'), {}],
    ]
    for (const [address, init] of roads) {
      const response = await fetch(address, { ...init, headers: { ...(init.headers as Record<string, string>), origin: SITE } })
      expect([address, allowed(response), response.headers.get('vary')]).toEqual([address, SITE, expect.stringContaining('Origin')])
      expect(response.headers.get('access-control-allow-credentials')).toBeNull()
      await response.text()
    }
    const answer = await preflight(url)
    expect([answer.status, allowed(answer), answer.headers.get('access-control-allow-methods')]).toEqual([204, SITE, 'GET, POST'])
    expect(answer.headers.get('access-control-allow-headers')).toContain('authorization')
  })

  it('gets no CORS header if it is not listed, even if it resembles a listed origin', async () => {
    const url = await open([SITE], true)
    for (const origin of [
      'https://evil.example',
      'http://app.example',
      'https://app.example.evil.example',
      'null',
      'https://app.example:444',
    ]) {
      const answer = await preflight(url, origin)
      expect([origin, allowed(answer), answer.headers.get('access-control-allow-credentials')]).toEqual([origin, null, null])
      expect(answer.headers.get('vary')).toContain('Origin')
    }
  })

  it('may send credentials only if it is listed by name', async () => {
    expect((await preflight(await open([SITE], true))).headers.get('access-control-allow-credentials')).toBe('true')
    const any = await preflight(await open(['*'], true))
    expect([allowed(any), any.headers.get('access-control-allow-credentials')]).toEqual(['*', null])
  })

  it('is answered like other clients if it sends OPTIONS without a preflight header', async () => {
    expect((await fetch(await open([SITE]), { method: 'OPTIONS' })).status).toBe(405)
  })
})

describe('a WebSocket of a page', () => {
  /** 101, or the status that refused the upgrade. */
  function statusFor(url: string, origin: string | undefined, host?: string): Promise<number | undefined> {
    const headers = { ...(origin === undefined ? {} : { origin }), ...(host === undefined ? {} : { host }) }
    const socket = new WebSocket(url.replace('http', 'ws'), ['graphql-transport-ws'], { headers })
    return new Promise((resolve, reject) => {
      socket.once('open', () => resolve((socket.close(), 101)))
      socket.once('unexpected-response', (request, response) => resolve((request.destroy(), response.statusCode)))
      socket.once('error', reject)
    })
  }

  it('of a foreign origin is refused in development, where a header alone names the viewer', async () => {
    const url = await open()
    const { port } = new URL(url)
    for (const origin of [
      SITE,
      `http://evil.example:${port}`,
      'http://localhost.evil.example',
      'http://127.0.0.1.evil.example',
      'null',
      'file://',
      '',
    ])
      expect([origin, await statusFor(url, origin)]).toEqual([origin, 403])
    for (const origin of [undefined, new URL(url).origin, 'http://localhost:5173', 'http://app.localhost', 'http://[::1]:3000'])
      expect([origin, await statusFor(url, origin)]).toEqual([origin, 101])
    expect(await statusFor(url, `http://dev.example:${port}`, `dev.example:${port}`)).toBe(101)
    expect(await statusFor(url, 'https://dev.example', 'dev.example')).toBe(101)
    expect(await statusFor(url, 'http://dev.example:1', `dev.example:${port}`)).toBe(403)
  })

  it('is accepted if its origin is listed, and by "*"', async () => {
    const listed = await open([SITE])
    expect([await statusFor(listed, SITE), await statusFor(listed, 'https://evil.example')]).toEqual([101, 403])
    expect(await statusFor(await open(['*']), 'https://evil.example')).toBe(101)
  })

  it('is accepted from any origin in production, where a token is needed', async () => {
    const server = await startServer({ mode: 'production', auth: { secret: 'a secret of at least thirty-two bytes' } })
    servers.push(server)
    expect(await statusFor(`${server.url}/graphql`, SITE)).toBe(101)
  })
})
