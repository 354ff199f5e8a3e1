import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { SignJWT, UnsecuredJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { makeIdentify, withIdsAsText, type AuthOptions } from '../../../gateway/identity/identify.ts'

const SECRET = 'a secret of at least thirty-two bytes'
const NOW = 1_800_000_000

function clockAt(seconds: number) {
  return { now: () => seconds * 1_000, after: () => ({ cancel() {} }) }
}

type Claims = { scope?: string | string[]; act?: { sub: string }; sub?: string; iss?: string; aud?: string; exp?: number; nbf?: number }

function sign(claims: Claims, alg = 'HS256', key: Uint8Array | KeyObject = new TextEncoder().encode(SECRET)): Promise<string> {
  const { exp = NOW + 60, ...rest } = claims
  return new SignJWT({ ...rest, exp }).setProtectedHeader({ alg }).sign(key)
}

function bearer(token: string) {
  return { authorization: `Bearer ${token}` }
}

function production(auth: AuthOptions = { secret: SECRET }, seconds = NOW) {
  return makeIdentify(auth, 'production', clockAt(seconds))
}

describe('a token', () => {
  it('names the viewer by its subject', async () => {
    expect(await production()(bearer(await sign({ sub: '42' })))).toMatchObject({ id: '42', scopes: [] })
  })

  it.each([
    ['a number beyond 2^53', '{"sub":9007199254740993,"exp":1800000060}'],
    ['a small number', '{"sub":42,"exp":1800000060}'],
    ['an object', '{"sub":{"id":"42"},"exp":1800000060}'],
  ])('with %s as its subject is refused', async (_, claims) => {
    const [head, payload] = ['{"alg":"HS256"}', claims].map((part) => Buffer.from(part).toString('base64url'))
    const signature = createHmac('sha256', SECRET).update(`${head}.${payload}`).digest('base64url')
    await expect(production()(bearer(`${head}.${payload}.${signature}`))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('lists further permissions in its scope', async () => {
    const token = await sign({ sub: 'service', scope: 'progress:write-any  other' })
    expect(await production()(bearer(token))).toMatchObject({ id: 'service', scopes: ['progress:write-any', 'other'] })
  })

  it('may list its scopes; a scope with a space is refused, because a subgraph would read it as two', async () => {
    expect(await production()(bearer(await sign({ sub: '42', scope: ['a', 'b'] })))).toMatchObject({ scopes: ['a', 'b'] })
    await expect(production()(bearer(await sign({ sub: '42', scope: ['a', 'b viewer:any'] })))).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      message: expect.stringContaining('"b viewer:any" has a space'),
    })
  })

  it('of a client cannot name the service that acts', async () => {
    expect(await production()(bearer(await sign({ sub: '42', act: { sub: '7' } })))).not.toHaveProperty('actor')
  })

  it('is read with any case of the scheme', async () => {
    expect(await production()({ authorization: `bearer ${await sign({ sub: '42' })}` })).toMatchObject({ id: '42', scopes: [] })
  })

  it('is optional: without credentials there is no viewer and no error', async () => {
    expect(await production()({ accept: '*/*' })).toBeUndefined()
  })

  it('signed with another secret is refused', async () => {
    const forged = await sign({ sub: '42' }, 'HS256', new TextEncoder().encode('another secret of thirty-two bytes!!'))
    await expect(production()(bearer(forged))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('without a signature is refused', async () => {
    const unsecured = new UnsecuredJWT({ sub: '42', exp: NOW + 60 }).encode()
    await expect(production()(bearer(unsecured))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('of another format is refused with advice', async () => {
    for (const authorization of ['', 'Bearer', 'Bearer x', 'Basic dXNlcjpwYXNz', 'Bearer a.b.c', 42]) {
      await expect(production()({ authorization })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    }
  })

  it('that has expired is refused with its own code', async () => {
    const token = await sign({ sub: '42', exp: NOW - 1 })
    await expect(production()(bearer(token))).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' })
  })

  it('is refused after its expiry, even if it was verified before', async () => {
    let seconds = NOW
    const identify = makeIdentify({ secret: SECRET }, 'production', { ...clockAt(0), now: () => seconds * 1_000 })
    const token = await sign({ sub: '42', exp: NOW + 60 })
    expect(await identify(bearer(token))).toMatchObject({ id: '42', scopes: [] })
    seconds = NOW + 59
    expect(await identify(bearer(token))).toMatchObject({ id: '42', scopes: [] })
    seconds = NOW + 61
    await expect(identify(bearer(token))).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' })
  })

  it('without an expiry is refused', async () => {
    const token = await new SignJWT({ sub: '42' }).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(SECRET))
    await expect(production()(bearer(token))).rejects.toMatchObject({ code: 'UNAUTHENTICATED', message: expect.stringContaining('"exp"') })
  })

  it('that is not valid yet is refused', async () => {
    await expect(production()(bearer(await sign({ sub: '42', nbf: NOW + 30 })))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('without a subject, or with a subject that is no id, is refused', async () => {
    await expect(production()(bearer(await sign({})))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    for (const sub of ['', 'x'.repeat(65)]) {
      await expect(production()(bearer(await sign({ sub })))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    }
  })

  it('must name the configured issuer and audience', async () => {
    const identify = production({ secret: SECRET, issuer: 'https://id.example', audience: 'tidemark' })
    expect(await identify(bearer(await sign({ sub: '42', iss: 'https://id.example', aud: 'tidemark' })))).toMatchObject({
      id: '42',
      scopes: [],
    })
    for (const claims of [
      {},
      { iss: 'https://id.example' },
      { iss: 'https://evil.example', aud: 'tidemark' },
      { iss: 'https://id.example', aud: 'other' },
    ]) {
      await expect(identify(bearer(await sign({ sub: '42', ...claims })))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    }
  })

  it('is refused if no key is configured', async () => {
    const identify = makeIdentify({}, 'development', clockAt(NOW))
    await expect(identify(bearer(await sign({ sub: '42' })))).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      message: expect.stringContaining('TIDEMARK_JWT_SECRET'),
    })
  })
})

describe('a public key', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const ed = generateKeyPairSync('ed25519')
  const pem = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString()

  for (const [alg, pair] of [
    ['RS256', rsa],
    ['ES256', ec],
    ['EdDSA', ed],
  ] as const) {
    it(`of ${alg} verifies tokens of ${alg}`, async () => {
      const identify = production({ publicKey: pem(pair.publicKey) })
      expect(await identify(bearer(await sign({ sub: '42' }, alg, pair.privateKey)))).toMatchObject({ id: '42', scopes: [] })
    })
  }

  it('is not accepted as the secret of an HS256 token', async () => {
    const text = pem(rsa.publicKey)
    const confused = await sign({ sub: '42' }, 'HS256', new TextEncoder().encode(text))
    await expect(production({ publicKey: text })(bearer(confused))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('determines the algorithm: RS512 with the right RSA key is refused', async () => {
    const token = await sign({ sub: '42' }, 'RS512', rsa.privateKey)
    await expect(production({ publicKey: pem(rsa.publicKey) })(bearer(token))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('that is private, short, of another curve or no key stops the start', () => {
    const privatePem = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const short = pem(generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey)
    const other = pem(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey)
    for (const publicKey of [privatePem, short, other, 'not a key']) {
      expect(() => production({ publicKey })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    }
  })
})

it('a secret of less than 32 bytes stops the start', () => {
  expect(() => production({ secret: 'too short' })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
})

describe('x-viewer-id', () => {
  const development = makeIdentify({ secret: SECRET }, 'development', clockAt(NOW))

  it('names the viewer in development, as a header or as a connection parameter', async () => {
    expect(await development({ 'x-viewer-id': '7' })).toEqual({ id: '7', scopes: [] })
    expect(await development({ viewerId: '7' })).toEqual({ id: '7', scopes: [] })
    expect(await development({ 'x-viewer-id': '7', 'x-viewer-scopes': 'a b' })).toEqual({ id: '7', scopes: ['a', 'b'] })
  })

  it('is ignored if there is a token', async () => {
    expect(await development({ 'x-viewer-id': '7', ...bearer(await sign({ sub: '42' })) })).toMatchObject({ id: '42', scopes: [] })
  })

  it('is refused in production, even beside a valid token', async () => {
    await expect(production()({ 'x-viewer-id': '7' })).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      message: expect.stringContaining('Bearer'),
    })
    await expect(production()({ viewerId: '7', ...bearer(await sign({ sub: '42' })) })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('must be an id', async () => {
    await expect(development({ 'x-viewer-id': '' })).rejects.toMatchObject({ code: 'ID_INVALID' })
    await expect(development({ 'x-viewer-id': 'x'.repeat(65) })).rejects.toMatchObject({ code: 'ID_INVALID' })
    await expect(development({ viewerId: 7 })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('is named in a message as the client sent it', async () => {
    await expect(development({ 'x-viewer-id': '' })).rejects.toThrow(/^x-viewer-id is empty/)
    await expect(development({ viewerId: '' })).rejects.toThrow(/^viewerId is empty/)
    await expect(development({ viewerId: 7 })).rejects.toThrow(/^viewerId is a number/)
  })
})

describe('a service', () => {
  it('acts for a viewer with the scope viewer:any, by header or connection parameter, and is the actor', async () => {
    const token = bearer(await sign({ sub: 'importer', scope: 'viewer:any progress:write-any' }))
    const expected = { id: '7', actor: 'importer', scopes: ['viewer:any', 'progress:write-any'] }
    expect(await production()({ ...token, 'x-on-behalf-of': '7' })).toMatchObject(expected)
    expect(await production()({ ...token, onBehalfOf: '7' })).toMatchObject(expected)
    expect(await production()(token)).toMatchObject({ id: 'importer' })
  })

  it('without that scope is refused, and so is an anonymous caller', async () => {
    const token = bearer(await sign({ sub: 'importer', scope: 'progress:write-any' }))
    await expect(production()({ ...token, 'x-on-behalf-of': '7' })).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: expect.stringContaining('viewer:any'),
    })
    await expect(production()({ 'x-on-behalf-of': '7' })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('must name a viewer by a valid id', async () => {
    const token = bearer(await sign({ sub: 'importer', scope: 'viewer:any' }))
    await expect(production()({ ...token, 'x-on-behalf-of': '' })).rejects.toMatchObject({ code: 'ID_INVALID' })
    await expect(production()({ ...token, onBehalfOf: 7 })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })
})

describe('clocks that differ', () => {
  it('are tolerated up to clockToleranceSeconds, for remembered tokens too', async () => {
    let seconds = NOW
    const identify = makeIdentify({ secret: SECRET, clockToleranceSeconds: 5 }, 'production', { ...clockAt(0), now: () => seconds * 1_000 })
    const token = bearer(await sign({ sub: '42', exp: NOW - 4 }))
    expect(await identify(token)).toMatchObject({ id: '42', expiresAt: (NOW + 1) * 1_000 })
    seconds = NOW + 2
    await expect(identify(token)).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' })
  })
})

describe('auth.algorithms', () => {
  it('chooses among the algorithms of the kind of the key', async () => {
    const identify = production({ secret: SECRET, algorithms: ['HS512'] })
    expect(await identify(bearer(await sign({ sub: '42' }, 'HS512')))).toMatchObject({ id: '42' })
    await expect(identify(bearer(await sign({ sub: '42' })))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(() => production({ secret: SECRET, algorithms: ['RS256'] })).toThrow('RS256, which does not fit')
  })
})

describe('ids in headers', () => {
  const sent = (id: string) => Buffer.from(id).toString('latin1')

  it('are text in UTF-8, whoever they name', () => {
    const headers = { host: 'x', 'x-viewer-id': sent('svc'), 'x-on-behalf-of': sent('zoë') }
    expect(withIdsAsText(headers)).toEqual({ ...headers, 'x-on-behalf-of': 'zoë' })
    expect(headers['x-on-behalf-of']).toBe('zoÃ«')
  })

  it('in ASCII stay as they are', () => {
    const headers = { 'x-viewer-id': '42', 'x-on-behalf-of': '43' }
    expect(withIdsAsText(headers)).toBe(headers)
  })

  it.each(['zo\u00eb', '7, 8'])('%j is refused', (id) => {
    for (const name of ['x-viewer-id', 'x-on-behalf-of']) {
      expect(() => withIdsAsText({ [name]: id })).toThrow(expect.objectContaining({ code: 'ID_INVALID' }))
    }
  })
})
