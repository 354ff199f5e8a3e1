/** Public counts by GET of a persisted operation, as a shared cache sees them. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask } from '../../../harness/deployment/service.ts'
import { apollo, makeManifestFolder, sha } from '../../../harness/samples/manifests.ts'
import { serve, type Served } from './served.ts'

const COUNTS = 'query Counts($ids: [ID!]!) { subjects(business: "video", ids: $ids) { id business likeCount dislikeCount } }'
const MARKS = 'query Marks($ids: [ID!]!) { subjects(business: "video", ids: $ids) { id likeCount viewerMark } }'
const FRAGMENT = `query OfVideo($ids: [ID!]!) { subjects(business: "video", ids: $ids) { __typename ... on Video { likeCount } ...S } }
  fragment S on Subject { id }`
const MIXED = 'query Mixed($ids: [ID!]!) { films subjects(business: "video", ids: $ids) { likeCount } }'

const files = makeManifestFolder()
let served: Served
let proxy: CachingProxy
beforeAll(async () => {
  const manifests = [files.write('m.json', apollo(...[COUNTS, MARKS, FRAGMENT, MIXED].map((body) => ({ body }))))]
  served = await serve({ persisted: { manifests } })
  proxy = await startCachingProxy(new URL(served.service.url).origin)
}, 30_000)
afterAll(async () => {
  await proxy?.stop()
  await served?.stop()
  files.remove()
})

const pathOf = (body: string, ...ids: string[]) => `/graphql/p/${sha(body)}?variables=${encodeURIComponent(JSON.stringify({ ids }))}`
const get = (body: string, headers: Record<string, string> = {}, ids = ['1']) =>
  fetch(new URL(pathOf(body, ...ids), served.service.url), { headers })

describe('the cache header of public counts', () => {
  test.each([
    ['counts to an anonymous caller', COUNTS, {}, 'public, max-age=5'],
    ['counts through fragments to an anonymous caller', FRAGMENT, {}, 'public, max-age=5'],
    ['counts to a viewer', COUNTS, { 'x-viewer-id': '7' }, 'private, no-cache'],
    ['counts with a mark to a viewer', MARKS, { 'x-viewer-id': '7' }, 'no-store'],
    ['counts with a mark to an anonymous caller', MARKS, {}, 'no-store'],
    ['counts beside a field without a hint', MIXED, {}, 'no-store'],
  ] as [string, string, Record<string, string>, string][])('%s', async (_name, body, headers, control) => {
    const response = await get(body, headers)
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, control])
    expect(response.headers.get('vary')).toContain('authorization')
  })

  test('a failed subject is not stored', async () => {
    expect((await get(COUNTS, {}, ['1', ''])).headers.get('cache-control')).toBe('no-store')
  })
})

describe('a caching proxy', () => {
  const through = async (body: string, headers: Record<string, string> = {}, ...ids: string[]) => {
    const response = await fetch(new URL(pathOf(body, ...ids), proxy.url), { headers })
    return { from: response.headers.get('x-from'), answer: await response.json() }
  }
  const counted = (id: string, likeCount: number) => ({ data: { subjects: [{ id, business: 'video', likeCount, dislikeCount: 0 }] } })

  test('serves the second anonymous call, and no answer to a viewer', async () => {
    expect(await through(COUNTS, {}, '50')).toEqual({ from: 'origin', answer: counted('50', 0) })
    expect(await through(COUNTS, {}, '50')).toEqual({ from: 'cache', answer: counted('50', 0) })
    expect(await through(COUNTS, {}, '51')).toEqual({ from: 'origin', answer: counted('51', 0) })
    // The viewer sees the own like at once. The anonymous answer stays until its age is over.
    const LIKE = 'mutation { setMark(input: { business: "video", id: "50", mark: LIKE }) { outcome } }'
    expect(await ask(served.service.url, '7', LIKE)).toMatchObject({ data: { setMark: { outcome: 'ACCEPTED' } } })
    for (let call = 0; call < 2; call += 1)
      expect(await through(COUNTS, { 'x-viewer-id': '7' }, '50')).toEqual({ from: 'origin', answer: counted('50', 1) })
    expect(await through(COUNTS, {}, '50')).toEqual({ from: 'cache', answer: counted('50', 0) })
  })

  test('serves no answer that must not be stored', async () => {
    for (let call = 0; call < 2; call += 1) expect((await through(MARKS, {}, '50')).from).toBe('origin')
  })
})

type CachingProxy = { readonly url: string; stop(): Promise<unknown> }
type Stored = {
  readonly body: string
  readonly type: string
  readonly until: number
  readonly vary: string[]
  readonly sent: IncomingHttpHeaders
}

/** A shared cache by RFC 9111: it stores `public` answers for `max-age` seconds, and selects by the headers of `vary`. */
async function startCachingProxy(origin: string): Promise<CachingProxy> {
  const stored = new Map<string, Stored[]>()
  const fits = (kept: Stored, headers: IncomingHttpHeaders) =>
    kept.until > Date.now() && kept.vary.every((name) => kept.sent[name] === headers[name])
  const server: Server = createServer((request, response) => {
    const { url = '/', headers } = request
    const kept = stored.get(url)?.find((each) => fits(each, headers))
    const answer = (from: string, type: string, body: string) => response.writeHead(200, { 'content-type': type, 'x-from': from }).end(body)
    if (kept !== undefined) return void answer('cache', kept.type, kept.body)
    const passed = Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && !['host', 'connection'].includes(name) ? [[name, value] as [string, string]] : [],
    )
    void fetch(new URL(url, origin), { headers: passed }).then(async (fresh) => {
      const [body, type] = [await fresh.text(), fresh.headers.get('content-type') ?? '']
      const control = fresh.headers.get('cache-control') ?? ''
      const seconds = Number(/max-age=(\d+)/.exec(control)?.[1] ?? 0)
      const vary = (fresh.headers.get('vary') ?? '').split(',').map((name) => name.trim().toLowerCase())
      if (control.includes('public'))
        stored.set(url, [...(stored.get(url) ?? []), { body, type, until: Date.now() + seconds * 1_000, vary, sent: headers }])
      answer('origin', type, body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}
