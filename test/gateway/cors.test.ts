import { afterEach, describe, expect, it } from 'vitest'
import { startServer, type TestServer } from '../support/front-schema.ts'

const servers: TestServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})
async function open(origins?: string[], credentials = false): Promise<string> {
  const server = await startServer(origins === undefined ? {} : { cors: { origins, credentials } })
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
  it('is answered nothing where none is configured', async () => {
    const url = await open()
    expect(
      allowed(
        await fetch(url, { method: 'POST', headers: { origin: SITE, 'content-type': 'application/json' }, body: '{"query":"{hello}"}' }),
      ),
    ).toBeNull()
    expect(allowed(await preflight(url))).toBeNull()
  })

  it('that is listed may call by every road: POST, GET, streams, errors', async () => {
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

  it('that is not listed gets no leave, whatever it is like', async () => {
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

  it('may bring credentials only where it is listed by name', async () => {
    expect((await preflight(await open([SITE], true))).headers.get('access-control-allow-credentials')).toBe('true')
    const any = await preflight(await open(['*'], true))
    expect([allowed(any), any.headers.get('access-control-allow-credentials')]).toEqual(['*', null])
  })

  it('that sends OPTIONS without asking for leave gets what others get', async () => {
    expect((await fetch(await open([SITE]), { method: 'OPTIONS' })).status).toBe(405)
  })
})
