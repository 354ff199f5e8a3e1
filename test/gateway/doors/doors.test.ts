/** Headers that the HTTP transport accepts and refuses: media types with weights, charsets, hosts, and cache headers. */
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { negotiate } from '../../../gateway/doors/accept.ts'
import { makeHostCheck } from '../../../gateway/doors/browsers/hosts.ts'
import { startServer, type TestServer } from '../../support/front-schema.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
const GRAPHQL_TYPE = 'application/graphql-response+json; charset=utf-8'
const [J, G, S] = ['application/json', 'application/graphql-response+json', 'text/event-stream']

let server: TestServer
beforeAll(async () => {
  server = await startServer({ hosts: ['dev.example'] })
})
afterAll(() => server.close())

describe('the accept header', () => {
  it.each([
    [undefined, JSON_TYPE],
    ['*/*', JSON_TYPE],
    [`${G}, ${J}`, GRAPHQL_TYPE],
    [`${J}, ${G}`, JSON_TYPE],
    [`${J};q=0.5, ${G};q=0.9`, GRAPHQL_TYPE],
    [`${G};q=0.5, ${J}`, JSON_TYPE],
    [`${J};q=0, ${G}`, GRAPHQL_TYPE],
    [`${G};q=0, */*`, JSON_TYPE],
    [`${J};q=0, */*`, GRAPHQL_TYPE],
    [`*/*;q=0.1, ${G};q=0.2`, GRAPHQL_TYPE],
    [`application/*;q=0, */*`, undefined],
    [`${J};q=0`, undefined],
    [`${J}; q=0.000`, undefined],
    ['*/*;q=0', undefined],
    ['text/html', undefined],
    [`${J};charset=latin1`, undefined],
    [`${J}; charset="UTF-8"`, JSON_TYPE],
    [`${J};q=many`, JSON_TYPE],
  ])('%s is answered with %s', (accept, contentType) => {
    expect(negotiate(accept).contentType).toBe(contentType)
  })

  it.each([
    [S, true],
    [`${S}, ${J}`, true],
    [`${J}, ${S}`, false],
    [`${J};q=0.5, ${S}`, true],
    [`${S};q=0.5, ${J}`, false],
    [`${S};q=0, ${J}`, false],
  ])('%s prefers a stream: %s', (accept, streamFirst) => {
    expect(negotiate(accept).streamFirst).toBe(streamFirst)
  })

  it('opens no stream with q=0 for event streams', () => {
    expect(negotiate(`${S};q=0`)).toEqual({ contentType: undefined, stream: false, streamFirst: false })
  })

  it.each(['application/json;q=0', 'text/event-stream;q=0', 'image/png'])(
    '%s gets 406 by POST and GET, and no operation runs',
    async (accept) => {
      const { prepared } = server.engine.calls
      const sent = await send('/graphql', { accept })
      const got = await fetch(`${server.url}/graphql?query={hello}`, { headers: { accept } })
      expect([sent.status, got.status, server.engine.calls.prepared - prepared]).toEqual([406, 406, 0])
      expect(sent.body).toContain('no media type of the accept header can be served')
    },
  )

  it('is also followed for requests that graphql-http reads', async () => {
    const got = await fetch(`${server.url}/graphql?query={hello}`, { headers: { accept: `${J};q=0.1, ${G}` } })
    expect(got.headers.get('content-type')).toBe(GRAPHQL_TYPE)
  })
})

describe('the charset of a body', () => {
  it.each([
    ['application/json; charset="utf-8"', 200],
    ['application/json;charset=UTF-8', 200],
    ['Application/JSON; Charset="Utf-8"', 200],
    ['application/json; charset=utf8', 200],
    ['application/json; charset=latin1', 415],
    ['application/json; charset="utf-16"', 415],
    ['text/plain', 415],
  ])('%s is answered with %i', async (contentType, status) => {
    expect((await send('/graphql', { 'content-type': contentType })).status).toBe(status)
  })
})

describe('no cache stores a refusal:', () => {
  it.each([
    ['PUT', '/graphql', {}],
    ['DELETE', '/graphql', {}],
    ['PATCH', '/graphql/p/x', {}],
    ['GET', '/graphql?query=mutation{report(oid:"1")}', {}],
    ['GET', '/nothing', {}],
    ['GET', '/graphql', {}],
    ['POST', '/graphql', { 'content-type': 'text/plain' }],
    ['POST', '/graphql', { accept: 'text/html' }],
    ['POST', '/graphql', { authorization: 'nonsense' }],
    ['POST', '/graphql', { 'content-encoding': 'gzip' }],
    ['POST', '/graphql', { host: 'rebound.example' }],
  ])('%s %s with %o', async (method, path, headers) => {
    const refused = await send(path, headers, method)
    expect(refused.status).toBeGreaterThanOrEqual(400)
    expect(refused.headers['cache-control']).toBe('no-store')
    if (refused.status === 405) expect(refused.headers['allow']).toBeDefined()
  })

  it('a request that is not HTTP', async () => {
    const said = await new Promise<string>((resolve) => {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
      let text = ''
      socket.setEncoding('utf8').on('data', (part: string) => (text += part))
      socket.once('close', () => resolve(text))
      socket.write('nonsense\r\n\r\n')
    })
    expect(said).toMatch(/^HTTP\/1.1 400 .*cache-control: no-store/s)
  })
})

describe('the host name, in development', () => {
  it.each([
    ...['localhost', 'localhost:4000', 'LOCALHOST', 'app.localhost:1', '127.0.0.1:4000', '192.168.0.7', '[::1]:4000', '[fd00::1]'],
    ...['tidemark:4000', 'host.docker.internal', 'localhost.', 'dev.example', 'DEV.example:4000', undefined],
  ])('%s is answered', (host) => {
    expect(makeHostCheck(['dev.example'])(host)).toBe(true)
  })

  it.each(['evil.example', 'evil.example:4000', '127.0.0.1.evil.example', 'localhost.evil.example', 'evillocalhost.com', '1.2.3.4.nip.io'])(
    '%s is not answered',
    (host) => {
      expect(makeHostCheck(['dev.example'])(host)).toBe(false)
    },
  )

  it('of a foreign site gets 403, and the message names the setting that allows it', async () => {
    for (const path of ['/graphql', '/', '/metrics']) {
      const refused = await send(path, { host: 'rebound.example' })
      expect(refused.status).toBe(403)
      expect(refused.body).toContain('add the name to server.hosts')
    }
    expect((await send('/graphql', { host: 'dev.example' })).status).toBe(200)
  })

  it('of a foreign site opens no WebSocket from any origin', async () => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, ['graphql-transport-ws'], {
      headers: { host: 'rebound.example' },
      origin: 'http://rebound.example',
    })
    const failed = await new Promise<Error>((resolve) => socket.once('error', resolve))
    expect(failed.message).toContain('403')
  })

  it('is not checked in production', async () => {
    const production = await startServer({ mode: 'production' })
    expect((await send('/graphql', { host: 'api.example' }, 'POST', production)).status).toBe(200)
    await production.close()
  })
})

type Reply = { status: number; body: string; headers: Record<string, string | string[] | undefined> }

/** Uses node:http, because fetch sets the host itself. */
function send(path: string, headers: Record<string, string>, method = 'POST', to: TestServer = server): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      `${to.url}${encodeURI(path)}`,
      { method, headers: { 'content-type': 'application/json', ...headers } },
      (response) => {
        let body = ''
        response.setEncoding('utf8').on('data', (part: string) => (body += part))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body, headers: response.headers }))
      },
    )
    sent.once('error', reject)
    sent.end(method === 'GET' ? undefined : '{"query":"{ hello }"}')
  })
}
