import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose'
import { afterEach, describe, expect, it } from 'vitest'
import { makeIdentify } from '../../../gateway/identity/identify.ts'
import { eventually } from '../../../harness/until.ts'

const NOW = 1_800_000_000

type Published = { keys: JWK[]; mode: 'ok' | 'down' | 'silent' | 'huge'; asked: number }
const closers: (() => void)[] = []
afterEach(() => closers.splice(0).forEach((close) => close()))

/** The key set of an issuer on a real socket. */
async function publish(): Promise<Published & { url: string }> {
  const published: Published & { url: string } = { keys: [], mode: 'ok', asked: 0, url: '' }
  const server = createServer((_request, response) => {
    published.asked += 1
    if (published.mode === 'silent') return
    response.statusCode = published.mode === 'down' ? 503 : 200
    if (published.mode === 'huge') response.write(' '.repeat(300_000))
    response.end(JSON.stringify({ keys: published.keys }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  published.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`
  return published
}

async function makeKey(kid: string, alg = 'ES256'): Promise<{ privateKey: CryptoKey; jwk: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair(alg)
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg } }
}

async function bearer(kid: string, key: CryptoKey | Uint8Array, alg = 'ES256', sub = '42') {
  const token = await new SignJWT({ sub, exp: NOW + 86_400 }).setProtectedHeader({ alg, kid }).sign(key)
  return { authorization: `Bearer ${token}` }
}

function steppedClock() {
  const clock = { ms: NOW * 1_000, now: () => clock.ms, after: () => ({ cancel() {} }) }
  return clock
}

describe('a published key set', () => {
  it('verifies tokens, and is read once for many tokens', async () => {
    const set = await publish()
    const { privateKey, jwk } = await makeKey('a')
    set.keys = [jwk]
    const identify = makeIdentify({ jwksUrl: set.url }, 'production', steppedClock())
    const tokens = await Promise.all(['1', '2', '3'].map((sub) => bearer('a', privateKey, 'ES256', sub)))
    expect(await Promise.all(tokens.map(async (token) => (await identify(token))?.id))).toEqual(['1', '2', '3'])
    expect(set.asked).toBe(1)
  })

  it('is read again for an unknown key, at most once in the cooldown', async () => {
    const set = await publish()
    const [first, second] = [await makeKey('a'), await makeKey('b')]
    set.keys = [first.jwk]
    const identify = makeIdentify({ jwksUrl: set.url }, 'production', steppedClock())
    expect(await identify(await bearer('a', first.privateKey))).toMatchObject({ id: '42' })
    const begunAt = performance.now()
    for (let attempt = 0; attempt < 20; attempt += 1) {
      await expect(identify(await bearer(`invented-${attempt}`, second.privateKey))).rejects.toMatchObject({
        code: 'UNAUTHENTICATED',
        message: expect.stringContaining('a key that this server does not know'),
      })
    }
    // Two seconds; see COOLDOWN_MS.
    expect(set.asked).toBeLessThanOrEqual(2 + (performance.now() - begunAt) / 2_000)
  })

  it('is read again in the background after ten minutes, and revoked keys are no longer accepted', async () => {
    const set = await publish()
    const [first, second] = [await makeKey('a'), await makeKey('b')]
    set.keys = [first.jwk]
    const clock = steppedClock()
    const identify = makeIdentify({ jwksUrl: set.url }, 'production', clock)
    const old = await bearer('a', first.privateKey)
    expect(await identify(old)).toMatchObject({ id: '42' })
    set.keys = [second.jwk]
    clock.ms += 601_000
    await identify(old)
    await expect.poll(() => set.asked).toBe(2)
    expect(await identify(old)).toMatchObject({ id: '42' })
    // Wait until the set has been read. Before that, the old token would be accepted and remembered again.
    const fresh = await bearer('b', second.privateKey)
    await eventually(async () => expect(await identify(fresh)).toMatchObject({ id: '42' }))
    clock.ms += 601_000
    await expect(identify(old)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(await identify(await bearer('b', second.privateKey))).toMatchObject({ id: '42' })
  })

  it('of more than 256 KiB is not read, and the known keys stay valid', async () => {
    const set = await publish()
    const { privateKey, jwk } = await makeKey('a')
    set.keys = [jwk]
    set.mode = 'huge'
    const failures: unknown[] = []
    const log = { warn: (fields: object) => void failures.push(Object.values(fields)[0]) }
    const clock = steppedClock()
    const identify = makeIdentify({ jwksUrl: set.url }, 'production', clock, { log })
    await expect(identify(await bearer('a', privateKey))).rejects.toMatchObject({ code: 'IDENTITY_UNAVAILABLE' })
    expect(failures[0]).toMatchObject({ message: 'the key set has more than 262144 bytes' })
    set.mode = 'ok'
    clock.ms += 5_000
    expect(await identify(await bearer('a', privateKey))).toMatchObject({ id: '42' })
  })

  it('keeps its known keys while its address is down', async () => {
    const set = await publish()
    const { privateKey, jwk } = await makeKey('a')
    set.keys = [jwk]
    const clock = steppedClock()
    const warnings: [object, string][] = []
    const identify = makeIdentify({ jwksUrl: `${set.url}?token=private` }, 'production', clock, {
      log: { warn: (fields, message) => void warnings.push([fields, message]) },
    })
    await identify(await bearer('a', privateKey))
    set.mode = 'down'
    clock.ms += 601_000
    expect(await identify(await bearer('a', privateKey, 'ES256', '43'))).toMatchObject({ id: '43' })
    const logged = [expect.objectContaining({ url: set.url }), expect.stringContaining('auth.jwksUrl cannot be read')]
    await expect.poll(() => warnings).toEqual([logged])
    expect(await identify(await bearer('a', privateKey, 'ES256', '44'))).toMatchObject({ id: '44' })
  })

  it('that is down at the start gives 503 at once, and tokens are verified when it is back', async () => {
    const set = await publish()
    const { privateKey, jwk } = await makeKey('a')
    set.keys = [jwk]
    set.mode = 'down'
    const clock = steppedClock()
    const identify = makeIdentify({ jwksUrl: set.url }, 'production', clock)
    const token = await bearer('a', privateKey)
    await expect(identify(token)).rejects.toMatchObject({ code: 'IDENTITY_UNAVAILABLE', message: expect.stringContaining('127.0.0.1') })
    const { asked } = set
    for (let attempt = 0; attempt < 20; attempt += 1) await expect(identify(token)).rejects.toMatchObject({ code: 'IDENTITY_UNAVAILABLE' })
    expect(set.asked).toBe(asked)
    expect(await identify({})).toBeUndefined()
    set.mode = 'ok'
    clock.ms += 1_001
    expect(await identify(token)).toMatchObject({ id: '42' })
  })

  it('determines the algorithms: no secret is accepted as a key, and auth.algorithms excludes', async () => {
    const set = await publish()
    const { privateKey, jwk } = await makeKey('a')
    set.keys = [jwk, { kty: 'oct', kid: 's', k: Buffer.from('a secret of at least thirty-two bytes').toString('base64url') }]
    const symmetric = await bearer('s', new TextEncoder().encode('a secret of at least thirty-two bytes'), 'HS256')
    const identify = makeIdentify({ jwksUrl: set.url }, 'production', steppedClock())
    await expect(identify(symmetric)).rejects.toMatchObject({ code: 'UNAUTHENTICATED', message: expect.stringContaining('algorithm') })
    const strict = makeIdentify({ jwksUrl: set.url, algorithms: ['RS256'] }, 'production', steppedClock())
    await expect(strict(await bearer('a', privateKey))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(() => makeIdentify({ jwksUrl: set.url, algorithms: ['HS256'] }, 'production', steppedClock())).toThrow(
      'HS256, which does not fit',
    )
  })
})
