import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { eventually } from '../../../../harness/until.ts'
import { startServer, type TestServer } from '../../../support/front-schema.ts'
import { all, bare, one, open, SECRET, token } from './clients.ts'

describe('the viewer of a WebSocket', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ mode: 'production', auth: { secret: SECRET } })
  })
  afterAll(() => server.close())

  it('is named once, by the token of connection_init', async () => {
    const client = open(server, { authorization: `Bearer ${await token('42')}` })
    expect(await one(client, '{ mine }')).toEqual({ data: { mine: 'of 42' } })
    expect(await one(client, '{ viewer }')).toEqual({ data: { viewer: '42' } })
  })

  it('may be named by the headers of the upgrade', async () => {
    const authorization = `Bearer ${await token('42')}`
    class WithHeader extends WebSocket {
      constructor(url: string, protocols: string) {
        super(url, protocols, { headers: { authorization } })
      }
    }
    expect(await one(open(server, {}, { webSocketImpl: WithHeader }), '{ viewer }')).toEqual({ data: { viewer: '42' } })
  })

  it('is named by connection_init alone if it has a token, and tokens of the upgrade are ignored', async () => {
    const authorization = `Bearer ${await token('42')}`
    for (const headers of [{ authorization: `Bearer ${await token('43')}` }, { authorization: 'Basic x' }]) {
      class WithHeaders extends WebSocket {
        constructor(url: string, protocols: string) {
          super(url, protocols, { headers })
        }
      }
      for (const params of [{ authorization }, { Authorization: authorization }])
        expect(await one(open(server, params, { webSocketImpl: WithHeaders }), '{ viewer }')).toEqual({ data: { viewer: '42' } })
    }
  })

  it('is refused with a sentence if the token is a parameter and another name of the viewer is a header', async () => {
    const authorization = `Bearer ${await token('42')}`
    for (const name of ['x-on-behalf-of', 'x-viewer-id']) {
      const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', { headers: { [name]: '7' } })
      socket.once('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization } })))
      const closed = await new Promise((resolve) => socket.once('close', (code, reason) => resolve({ code, reason: String(reason) })))
      const reason = `BAD_REQUEST: ${name} is a header and the token is a parameter: send both in the parameters, or both as headers`
      expect(closed).toEqual({ code: 4403, reason })
    }
  })

  it('may be missing', async () => {
    expect(await one(open(server), '{ hello viewer }')).toEqual({ data: { hello: 'hello world', viewer: null } })
  })

  it('of wrong credentials: the socket is closed with 4403 and the reason', async () => {
    for (const [payload, code] of [
      [{ authorization: 'Bearer a.b.c' }, 'UNAUTHENTICATED'],
      [{ authorization: `Bearer ${await token('42', -5)}` }, 'TOKEN_EXPIRED'],
      [{ viewerId: '42' }, 'UNAUTHENTICATED'],
      [{ authorization: { no: 'text' } }, 'UNAUTHENTICATED'],
    ] as const) {
      const { send, closed, received } = await bare(server)
      send({ type: 'connection_init', payload })
      expect(await closed).toEqual({ code: 4403, reason: expect.stringContaining(code) })
      expect(received).toEqual([])
    }
  })

  it('of an expiring token: the socket is closed with 4403 at the expiry, and its subscriptions end', async () => {
    const { send, received, closed } = await bare(server)
    const startedAt = Date.now()
    send({ type: 'connection_init', payload: { authorization: `Bearer ${await token('42', 4)}` } })
    await eventually(() => expect(received).toEqual([{ type: 'connection_ack' }]))
    send({ id: '1', type: 'subscribe', payload: { query: 'subscription { changes }' } })
    await eventually(() => expect(server.sources.size).toBe(1))
    expect(await closed).toEqual({ code: 4403, reason: expect.stringMatching(/^TOKEN_EXPIRED: .*sign in again/) })
    expect(Date.now() - startedAt).toBeLessThan(6_000)
    await eventually(() => expect(server.sources.size).toBe(0))
  })

  it('may be one that a service acts for, if the scope of the service allows it', async () => {
    const service = (scope: string) =>
      new SignJWT({ sub: 'importer', scope, exp: Math.floor(Date.now() / 1_000) + 60 })
        .setProtectedHeader({ alg: 'HS256' })
        .sign(new TextEncoder().encode(SECRET))
    const client = open(server, { authorization: `Bearer ${await service('viewer:any')}`, onBehalfOf: '7' })
    expect(await one(client, '{ viewer }')).toEqual({ data: { viewer: '7' } })
    const { send, closed } = await bare(server)
    send({ type: 'connection_init', payload: { authorization: `Bearer ${await service('other')}`, onBehalfOf: '7' } })
    expect(await closed).toEqual({ code: 4403, reason: expect.stringContaining('FORBIDDEN') })
  })

  it('sees no details of an internal error', async () => {
    const result = JSON.stringify(await one(open(server), '{ broken }'))
    expect(result).toContain('INTERNAL')
    expect(result).not.toContain('hunter2')
    const broken = await all(open(server), 'subscription { breaks }').catch((error: unknown) => error)
    expect(JSON.stringify(broken)).not.toContain('hunter2')
    expect(JSON.stringify(broken)).toContain('INTERNAL')
  })
})
