/** Refusals that client developers read: each has a code and names the remedy. */
import { gzipSync } from 'node:zlib'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../../harness/until.ts'
import { apollo, makeManifestFolder, sha } from '../../../harness/samples/manifests.ts'
import { post, startServer, type TestServer } from '../../support/front-schema.ts'
import { bare, SECRET, token } from './websocket/clients.ts'

const signed = (claims: Record<string, unknown>, secret = SECRET) =>
  new SignJWT({ exp: Math.floor(Date.now() / 1_000) + 60, ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(secret))

/** The close frame of a socket that sends this as its connection_init. */
async function closeOf(server: TestServer, payload: Record<string, unknown>): Promise<string> {
  const { send, closed } = await bare(server)
  send({ type: 'connection_init', payload })
  const { code, reason } = await closed
  return `${code} ${reason}`
}

describe('wrong credentials of a WebSocket', () => {
  it('close it with 4403, the code and the remedy in production', async () => {
    const server = await startServer({ mode: 'production', auth: { secret: SECRET, audience: 'tidemark' } })
    const bearer = (text: string) => ({ authorization: `Bearer ${text}` })
    const service = await signed({ sub: 'recommender', aud: 'tidemark' })
    const closes = [
      await closeOf(server, { viewerId: '7' }),
      await closeOf(server, { authorization: 'Basic x' }),
      await closeOf(server, bearer('a.b.c')),
      await closeOf(server, bearer(await signed({ sub: '7', aud: 'tidemark' }, 'another secret of thirty-two bytes'))),
      await closeOf(server, bearer(await signed({ sub: '7', aud: 'elsewhere' }))),
      await closeOf(server, bearer(await signed({ sub: 7, aud: 'tidemark' }))),
      await closeOf(server, bearer(await signed({ sub: '7', aud: 'tidemark', exp: 1 }))),
      await closeOf(server, { ...bearer(service), onBehalfOf: '7' }),
    ]
    expect(closes).toEqual([
      '4403 UNAUTHENTICATED: viewerId works in development only: in production send authorization: "Bearer <token>"',
      '4403 UNAUTHENTICATED: authorization is not "Bearer" with a JSON Web Token: send "Authorization: Bearer <token>"',
      '4403 UNAUTHENTICATED: the token is malformed or its signature is wrong: get a token made for this server',
      '4403 UNAUTHENTICATED: the token is malformed or its signature is wrong: get a token made for this server',
      '4403 UNAUTHENTICATED: the claim "aud" of the token is not accepted by this server: get a token made for this server',
      '4403 UNAUTHENTICATED: the token has no string as its subject: "sub" must be the id of the viewer, as a string',
      '4403 TOKEN_EXPIRED: the token has expired: sign in again and send the new one',
      '4403 FORBIDDEN: x-on-behalf-of needs the scope viewer:any, which this token does not have',
    ])
    await server.close()
  })

  it('close it with the setting if the server has no key for tokens', async () => {
    const server = await startServer()
    expect(await closeOf(server, { authorization: `Bearer ${await token('7')}` })).toBe(
      '4403 UNAUTHENTICATED: this server has no key for tokens: set TIDEMARK_JWT_SECRET or auth.jwksUrl, or send no token',
    )
    await server.close()
  })
})

describe('a message that breaks the WebSocket protocol', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())

  const INIT = { type: 'connection_init' }
  const subscribe = (id: string) => ({ type: 'subscribe', id, payload: { query: 'subscription { changes }' } })
  const long = 'x'.repeat(300)
  it.each<[string, unknown[], string]>([
    ['is no JSON', ['{ no JSON'], '4400 Invalid message received: send JSON with "type", as graphql-transport-ws defines it'],
    ['comes before connection_init', [subscribe('1')], '4401 Unauthorized: send connection_init, and wait for connection_ack'],
    ['is a second connection_init', [INIT, INIT], '4429 Too many initialisation requests: send connection_init once per socket'],
    [
      'has an id in use',
      [INIT, subscribe('1'), subscribe('1')],
      '4409 Subscriber for 1 already exists: give each open operation its own id',
    ],
    [
      'has a long id in use',
      [INIT, subscribe(long), subscribe(long)],
      `4409 ${`Subscriber for ${long}`.slice(0, 83)}…: give each open operation its own id`,
    ],
  ])('and %s closes the socket with the remedy', async (_name, messages, expected) => {
    const { send, closed, received } = await bare(server)
    for (const message of messages) {
      send(message)
      if (messages.length === 3) await eventually(() => expect(received).not.toEqual([]))
    }
    const { code, reason } = await closed
    expect(`${code} ${reason}`).toBe(expected)
  })

  it('is missing: a socket without connection_init is closed with the remedy', async () => {
    const { closed } = await bare(server)
    expect(await closed).toEqual({
      code: 4408,
      reason: 'Connection initialisation timeout: send connection_init right after the upgrade',
    })
  })

  it('is preceded by another subprotocol: the socket is closed with the name of the right one', async () => {
    const { closed } = await bare(server, null)
    expect(await closed).toEqual({
      code: 4406,
      reason: 'Subprotocol not acceptable: offer graphql-transport-ws, as the client graphql-ws does',
    })
  })
})

describe('an unknown persisted operation', () => {
  const files = makeManifestFolder()
  beforeAll(() => files.write('a.json', apollo({ body: '{ hello }' })))
  afterAll(() => files.remove())
  const errorOf = async (server: TestServer, body: unknown) => (await post(server.url, body)).json.errors?.[0]

  it('is refused with the ways to make it known', async () => {
    const server = await startServer({ persisted: { manifests: [files.folder] } })
    const id = sha('{ other }')
    expect(await errorOf(server, { documentId: `sha256:${id}` })).toEqual({
      message: `no operation has the id ${id}: send it once with its text as "query", or add the operation to a manifest by "tidemark persist"`,
      extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' },
    })
    expect(await errorOf(server, { documentId: 'other' })).toEqual({
      message: 'no operation has the id other: send the text as "query" instead, or add the operation to a manifest by "tidemark persist"',
      extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' },
    })
    await server.close()
  })

  it.each([
    ['an id', { documentId: 'other' }, 'the id other is in no manifest'],
    ['a text', { query: '{ viewer }' }, 'this text is in no manifest'],
  ])('by %s is refused with the command and the setting if only manifests are allowed', async (_name, body, subject) => {
    const server = await startServer({ persisted: { mode: 'enforce', manifests: [files.folder] } })
    const advice = 'add the operation by "tidemark persist" to a file of persisted.manifests'
    expect(await errorOf(server, body)).toEqual({
      message: `${subject}, and this client may run only operations of manifests: ${advice}`,
      extensions: { code: 'PERSISTED_QUERY_NOT_IN_LIST' },
    })
    await server.close()
  })

  it('is refused with the remedy if operations by id are off', async () => {
    const server = await startServer({ persisted: { mode: 'off' } })
    expect(await errorOf(server, { documentId: 'other' })).toEqual({
      message: 'persisted operations are off: send the text of the operation as "query"',
      extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED' },
    })
    await server.close()
  })
})

describe('a compressed request body', () => {
  it.each(['/graphql', '/graphql/', '/graphql/p/any'])(
    'to %s is refused with 415, the encoding that is accepted and the remedy',
    async (path) => {
      const server = await startServer()
      for (const body of [gzipSync('{"query":"{ hello }"}'), 'not compressed at all']) {
        const refused = await fetch(server.url + path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
          body,
        })
        expect([refused.status, refused.headers.get('accept-encoding'), await refused.json()]).toEqual([
          415,
          'identity',
          {
            errors: [
              {
                message:
                  'the body is compressed (gzip): send it uncompressed and without content-encoding, or send the operation by its id',
                extensions: { code: 'BODY_ENCODED' },
              },
            ],
          },
        ])
      }
      await server.close()
    },
  )
})
