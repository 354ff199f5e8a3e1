import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { startServer, type TestServer } from '../../support/front-schema.ts'

const servers: TestServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})
async function open(origins?: string[], credentials = false, headers?: string[]): Promise<string> {
  const hosts = ['dev.example']
  const server = await startServer(origins === undefined ? { hosts } : { hosts, cors: { origins, credentials, headers } })
  servers.push(server)
  return `${server.url}/graphql`
}
async function openInProduction(): Promise<TestServer> {
  const server = await startServer({ mode: 'production', auth: { secret: 'a secret of at least thirty-two bytes' } })
  servers.push(server)
  return server
}
const SITE = 'https://app.example'
const preflight = (url: string, origin = SITE, headers = 'authorization') =>
  fetch(url, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': headers },
  })
const allowedHeaders = async (url: string, asked: string) => (await preflight(url, SITE, asked)).headers.get('access-control-allow-headers')
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
      // A player corrects its clock by the date.
      expect(response.headers.get('access-control-expose-headers')).toBe('retry-after, date')
      expect(response.headers.get('date')).not.toBeNull()
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

  it.each([
    [SITE, `pages of ${SITE} may not use this API: add ${SITE} to server.cors.origins, or to TIDEMARK_CORS_ORIGINS`],
    [
      'null',
      'the origin "null" belongs to a file or a sandboxed frame: serve the page over https, and add its origin to server.cors.origins',
    ],
  ])('%s that is not listed is refused at its preflight, in production too, with the setting and the value', async (origin, sentence) => {
    for (const url of [await open(), await open(['https://other.example']), `${(await openInProduction()).url}/graphql`]) {
      const answer = await preflight(url, origin)
      expect([answer.status, await answer.json()]).toEqual([
        403,
        { errors: [{ message: expect.stringContaining(sentence), extensions: { code: 'ORIGIN_FORBIDDEN' } }] },
      ])
    }
  })

  it('that is refused is logged once per origin, and at most 100 times', async () => {
    const server = await openInProduction()
    const warnings = () => server.logged.filter(({ origin }) => origin !== undefined)
    for (let i = 0; i < 3; i++) await preflight(`${server.url}/graphql`)
    expect(warnings()).toEqual([expect.objectContaining({ level: 40, origin: SITE, msg: expect.stringContaining('server.cors.origins') })])
    for (let i = 0; i < 120; i++) await preflight(`${server.url}/graphql`, `https://${i}.example`)
    expect(warnings()).toHaveLength(100)
  })

  it('may call if it is listed in another case or with its default port', async () => {
    for (const listed of ['https://APP.example', 'https://app.example:443'])
      expect(allowed(await preflight(await open([listed])))).toBe(SITE)
  })

  it('may call from this machine in development without a setting, and not in production', async () => {
    const production = `${(await openInProduction()).url}/graphql`
    const development = await open()
    for (const origin of ['http://localhost:5173', 'http://127.0.0.1:3000', 'http://app.localhost']) {
      expect(allowed(await preflight(development, origin))).toBe(origin)
      expect(allowed(await preflight(production, origin))).toBeNull()
    }
    expect(allowed(await preflight(development, 'http://localhost.evil.example'))).toBeNull()
  })

  it('may send any header that it asks for', async () => {
    const url = await open([SITE])
    expect(await allowedHeaders(url, 'sentry-trace,baggage, Traceparent , x-my-team')).toBe('sentry-trace, baggage, Traceparent, x-my-team')
    expect(await allowedHeaders(url, 'a b, , (c), d')).toBe('d')
    const many = Array.from({ length: 150 }, (_, i) => `x-${i}`)
    expect(await allowedHeaders(url, many.join())).toBe(many.slice(0, 100).join(', '))
  })

  it('may send only the headers that the operator lists, if there is a list', async () => {
    const url = await open([SITE], false, ['authorization', 'content-type'])
    expect(await allowedHeaders(url, 'authorization, sentry-trace')).toBe('authorization, content-type')
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

  /** The error in the answer that refused the upgrade. */
  async function refusalFor(url: string, origin: string, host?: string): Promise<unknown> {
    const headers = { origin, ...(host === undefined ? {} : { host }) }
    const socket = new WebSocket(url.replace('http', 'ws'), ['graphql-transport-ws'], { headers })
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
    return ((await json(response)) as { errors: unknown[] }).errors[0]
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

  it('that is refused gets the code, the setting and the value', async () => {
    const url = await open()
    expect(await refusalFor(url, SITE)).toMatchObject({
      message: `pages of ${SITE} may not use this API: add ${SITE} to server.cors.origins, or to TIDEMARK_CORS_ORIGINS`,
      extensions: { code: 'ORIGIN_FORBIDDEN' },
    })
    expect(await refusalFor(url, SITE, 'api.example')).toMatchObject({
      message: expect.stringContaining('add the name to server.hosts'),
      extensions: { code: 'FORBIDDEN' },
    })
  })

  it('is accepted from any origin in production, where a token is needed', async () => {
    expect(await statusFor(`${(await openInProduction()).url}/graphql`, SITE)).toBe(101)
  })
})
