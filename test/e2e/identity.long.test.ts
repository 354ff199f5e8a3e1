/** Permissions on running processes: tokens, services that act for viewers, and a subgraph alone behind a gateway. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, SignJWT } from 'jose'
import { afterEach, describe, expect, it } from 'vitest'
import { makeIdentityHeader } from '../../gateway/identity/identity-header.ts'
import { makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'

const SECRET = 'the secret of clients, at least 32 bytes'
const IDENTITY = 'the secret of gateway and subgraphs, 32+'
const REPORT = 'mutation { reportProgress(input: {business: "video", id: "1", position: 60000}) { outcome } }'
const HISTORY = '{ viewerHistory(first: 5) { edges { node { id } } } }'

const services: Service[] = []
const folders: ReturnType<typeof makeServiceFolder>[] = []
afterEach(async () => {
  for (const service of services.splice(0)) await service.stop()
  for (const { remove } of folders.splice(0)) remove()
})

async function begin(settings: Record<string, unknown>, command?: string[]): Promise<Service> {
  const folder = makeServiceFolder()
  folders.push(folder)
  const service = await startService({ folder: folder.folder, settings, ...(command === undefined ? {} : { command }) })
  services.push(service)
  return service
}

function token(claims: object, key: Uint8Array | KeyObject = new TextEncoder().encode(SECRET), header = { alg: 'HS256' }): Promise<string> {
  return new SignJWT({ exp: Math.floor(Date.now() / 1_000) + 60, ...claims }).setProtectedHeader(header).sign(key)
}

async function ask(url: string, query: string, headers: Record<string, string>) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query }),
  })
  const { data, errors } = (await response.json()) as {
    data?: Record<string, unknown> | null
    errors?: { message: string; extensions: { code: string } }[]
  }
  return { status: response.status, data, codes: (errors ?? []).map(({ extensions }) => extensions.code) }
}
const page = (...ids: string[]) => ({ viewerHistory: { edges: ids.map((id) => ({ node: { id } })) } })

describe('the gateway in production', () => {
  it('lets services write and read for viewers, and no other callers', async () => {
    const { url } = await begin({ server: { mode: 'production' }, auth: { secret: SECRET } })
    const service = { authorization: `Bearer ${await token({ sub: 'importer', scope: 'viewer:any' })}` }
    const other = { authorization: `Bearer ${await token({ sub: 'importer' })}` }
    const viewer = { authorization: `Bearer ${await token({ sub: '7' })}` }
    expect(await ask(url, REPORT, { ...service, 'x-on-behalf-of': '7' })).toMatchObject({
      status: 200,
      data: { reportProgress: { outcome: 'ACCEPTED' } },
    })
    expect((await ask(url, HISTORY, viewer)).data).toEqual(page('1'))
    expect((await ask(url, HISTORY, { ...service, 'x-on-behalf-of': '7' })).data).toEqual(page('1'))
    expect((await ask(url, HISTORY, service)).data).toEqual(page())
    expect(await ask(url, HISTORY, { ...other, 'x-on-behalf-of': '7' })).toMatchObject({ status: 403, codes: ['FORBIDDEN'] })
    expect(await ask(url, HISTORY, { 'x-on-behalf-of': '7' })).toMatchObject({ status: 401, codes: ['UNAUTHENTICATED'] })
    expect(await ask(url, HISTORY, { 'x-viewer-id': '7' })).toMatchObject({ status: 401, codes: ['UNAUTHENTICATED'] })
    // An anonymous caller gets no data of viewers: no resolver ran for it.
    expect(await ask(url, HISTORY, {})).toMatchObject({ status: 200, data: { viewerHistory: null }, codes: ['UNAUTHENTICATED'] })
    expect(await ask(url, REPORT, {})).toMatchObject({ status: 200, data: { reportProgress: null }, codes: ['UNAUTHENTICATED'] })
  })

  it('accepts tokens of a published key set, and limits the cost per viewer', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'EdDSA' }] }
    const issuer = createServer((_request, response) => response.end(JSON.stringify(keys)))
    await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve))
    const { url } = await begin({
      server: { mode: 'production' },
      auth: {
        jwksUrl: `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/keys`,
        issuer: 'https://id.example',
        audience: 'tidemark',
      },
      limits: { viewer: { points: 3_000, perSeconds: 600 } },
    })
    const claims = { sub: '7', iss: 'https://id.example', aud: 'tidemark' }
    const bearer = async (all: object) => ({
      authorization: `Bearer ${await token(all, privateKey, { alg: 'EdDSA', kid: 'k' } as never)}`,
    })
    const viewer = await bearer(claims)
    for (const wrong of [{ aud: 'other' }, { iss: 'https://other.example' }])
      expect(await ask(url, HISTORY, await bearer({ ...claims, ...wrong }))).toMatchObject({ status: 401, codes: ['UNAUTHENTICATED'] })
    // The first request also pays for planning: another viewer makes it.
    expect(await ask(url, HISTORY, await bearer({ ...claims, sub: '8' }))).toMatchObject({ status: 200 })
    let asked = 0
    let last = await ask(url, HISTORY, viewer)
    for (; last.status === 200 && asked < 500; asked++) {
      expect(last.data).toEqual(page())
      last = await ask(url, HISTORY, viewer)
    }
    expect(asked).toBeGreaterThan(10)
    expect(last).toMatchObject({ status: 429, codes: ['RATE_LIMITED'] })
    issuer.closeAllConnections()
    await new Promise((resolve) => issuer.close(resolve))
  })
})

describe('the subgraph alone in production', () => {
  it('accepts its own tokens and the identity header of its gateway, and nothing else', async () => {
    const settings = { server: { mode: 'production' }, auth: { secret: SECRET, identity: { secret: IDENTITY } } }
    const { url } = await begin(settings, ['subgraph', 'history'])
    const from = (subgraph: string, secret = IDENTITY) => makeIdentityHeader({ secret }, subgraph)({ viewer: { id: '7', scopes: [] } })
    expect(await ask(url, REPORT, from('history'))).toMatchObject({ status: 200, data: { reportProgress: { outcome: 'ACCEPTED' } } })
    expect((await ask(url, HISTORY, { authorization: `Bearer ${await token({ sub: '7' })}` })).data).toEqual(page('1'))
    for (const headers of [
      from('reviews'),
      from('history', 'the secret of somebody else, 32 bytes+'),
      { 'tidemark-identity': await token({ sub: '7' }) },
      { 'tidemark-identity': 'no token' },
      { 'x-viewer-id': '7' },
      { 'x-viewer-id': '8', ...from('history') },
    ])
      expect(await ask(url, HISTORY, headers)).toMatchObject({ status: 401, codes: ['UNAUTHENTICATED'] })
    expect(await ask(url, HISTORY, {})).toMatchObject({ codes: ['UNAUTHENTICATED'] })
  })
})
