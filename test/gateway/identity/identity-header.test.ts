import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { IDENTITY_HEADER, makeIdentityHeader, makeSubgraphHeaders } from '../../../gateway/identity/identity-header.ts'
import { makeIdentify, type AuthOptions } from '../../../gateway/identity/identify.ts'

const SECRET = 'the secret of gateway and subgraphs, 32+'
const NOW = 1_800_000_000

function steppedClock() {
  const clock = { ms: NOW * 1_000, now: () => clock.ms, after: () => ({ cancel() {} }) }
  return clock
}
const pem = (key: KeyObject, type: 'spki' | 'pkcs8') => key.export({ type, format: 'pem' }).toString()
const VIEWER = { id: '42', scopes: ['progress:write-any', 'x'] }

function subgraph(identity: AuthOptions['identity'], name = 'history', clock = steppedClock()) {
  return makeIdentify({ identity, secret: 'the secret of clients, at least 32 bytes' }, 'production', clock, { subgraph: name })
}

describe('the identity header', () => {
  it('names the viewer and their scopes to one subgraph, for a minute', () => {
    const headers = makeIdentityHeader({ secret: SECRET }, 'reviews', steppedClock())({ viewer: { ...VIEWER, actor: 'importer' } })
    const token = headers[IDENTITY_HEADER] ?? ''
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'HS256', typ: 'tidemark-identity+jwt' })
    expect(decodeJwt(token)).toEqual({
      iss: 'tidemark',
      aud: 'reviews',
      sub: '42',
      scope: 'progress:write-any x',
      act: { sub: 'importer' },
      iat: NOW,
      exp: NOW + 60,
    })
  })

  it('is absent without a viewer and without a key', () => {
    expect(makeIdentityHeader({ secret: SECRET }, 'reviews')({ viewer: undefined })).toEqual({})
    expect(makeIdentityHeader(undefined, 'reviews')({ viewer: VIEWER })).toEqual({})
  })

  it('is used again for half of its life, per viewer and scopes, and never outlives the token of the client', () => {
    const clock = steppedClock()
    const make = makeIdentityHeader({ secret: SECRET }, 'reviews', clock)
    const first = make({ viewer: VIEWER })
    clock.ms += 29_000
    expect(make({ viewer: VIEWER })).toBe(first)
    expect(make({ viewer: { ...VIEWER, scopes: [] } })).not.toEqual(first)
    clock.ms += 2_000
    expect(make({ viewer: VIEWER })).not.toEqual(first)
    const short = make({ viewer: { ...VIEWER, expiresAt: clock.ms + 10_000 } })
    expect(decodeJwt(short[IDENTITY_HEADER] ?? '').exp).toBe(clock.ms / 1_000 + 10)
  })

  for (const kind of ['HS256', 'EdDSA'] as const) {
    it(`signed with ${kind} is accepted by its own subgraph and by no other`, async () => {
      const ed = generateKeyPairSync('ed25519')
      const signing = kind === 'HS256' ? { secret: SECRET } : { privateKey: pem(ed.privateKey, 'pkcs8') }
      const verifying = kind === 'HS256' ? { secret: SECRET } : { publicKey: pem(ed.publicKey, 'spki') }
      const headers = makeIdentityHeader(signing, 'history', steppedClock())({ viewer: VIEWER })
      expect(await subgraph(verifying)(headers)).toMatchObject(VIEWER)
      await expect(subgraph(verifying, 'reviews')(headers)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    })
  }

  it('names the service that acts for the viewer, and differs for each service', async () => {
    const make = makeIdentityHeader({ secret: SECRET }, 'history', steppedClock())
    const [importer, exporter, nobody] = ['importer', 'exporter', undefined].map((actor) =>
      make({ viewer: { ...VIEWER, ...(actor === undefined ? {} : { actor }) } }),
    )
    expect(await subgraph({ secret: SECRET })(importer ?? {})).toMatchObject({ id: '42', actor: 'importer' })
    expect(await subgraph({ secret: SECRET })(exporter ?? {})).toMatchObject({ id: '42', actor: 'exporter' })
    expect(await subgraph({ secret: SECRET })(nobody ?? {})).not.toHaveProperty('actor')
  })

  it('is refused after its expiry', async () => {
    const clock = steppedClock()
    const headers = makeIdentityHeader({ secret: SECRET }, 'history', clock)({ viewer: VIEWER })
    clock.ms += 66_000
    await expect(subgraph({ secret: SECRET }, 'history', clock)(headers)).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' })
  })

  it('is not accepted as a client token, and a client token is not accepted as this header', async () => {
    const shared: AuthOptions = { secret: SECRET, identity: { secret: SECRET } }
    const identify = makeIdentify(shared, 'production', steppedClock(), { subgraph: 'history' })
    const client = await new SignJWT({ sub: '7', iss: 'tidemark', aud: 'history', exp: NOW + 60 })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new TextEncoder().encode(SECRET))
    await expect(identify({ [IDENTITY_HEADER]: client })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('is not accepted by the gateway itself, nor by a subgraph without a key', async () => {
    const headers = makeIdentityHeader({ secret: SECRET }, 'history', steppedClock())({ viewer: VIEWER })
    const gateway = makeIdentify({ identity: { secret: SECRET } }, 'production', steppedClock())
    expect(await gateway(headers)).toBeUndefined()
    await expect(subgraph(undefined)(headers)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('replaces a header of the same name from the client', () => {
    const make = makeSubgraphHeaders({ secret: SECRET }, 'history', steppedClock())
    const headers = make({ viewer: VIEWER, forwarded: { 'x-tenant': 'a', [IDENTITY_HEADER]: 'forged' } })
    expect(headers['x-tenant']).toBe('a')
    expect(decodeJwt(headers[IDENTITY_HEADER] ?? '').sub).toBe('42')
  })

  it('needs a key that can sign', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 })
    for (const privateKey of ['no key', pem(rsa.privateKey, 'pkcs8')])
      expect(() => makeIdentityHeader({ privateKey }, 'x')).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })
})
