import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import { makeClientMemory } from '../../../gateway/memory/client-memory.ts'
import { post, startServer, type TestServer } from '../../support/front-schema.ts'
import { apollo, makeManifestFolder, sha } from '../../../harness/samples/manifests.ts'

const KNOWN = 'query Known { hello }'
const OTHER = 'query Other { hello(name: "other") }'
const apq = (text: string, query?: string) => ({
  ...(query === undefined ? {} : { query }),
  extensions: { persistedQuery: { version: 1, sha256Hash: sha(text) } },
})
const codeOf = (answer: { json: { errors?: { extensions?: Record<string, unknown> }[] } }) =>
  answer.json.errors?.[0]?.extensions?.['code'] ?? 'ok'
const named = (name: string) => ({ 'apollographql-client-name': name })

const files = makeManifestFolder()
const manifests = [files.folder]
beforeAll(
  () =>
    void files.write(
      'm.json',
      apollo(
        { body: KNOWN },
        { id: '1', body: '{ hello(name: "ios") }', clientName: 'ios' },
        { id: '1', body: '{ hello(name: "web") }', clientName: 'web' },
      ),
    ),
)
afterAll(() => files.remove())

async function withServer<T>(
  persisted: NonNullable<Parameters<typeof startServer>[0]>['persisted'] & object,
  use: (server: TestServer) => Promise<T>,
  memory = makeClientMemory(),
): Promise<T> {
  const server = await startServer({ persisted, memory })
  try {
    return await use(server)
  } finally {
    await server.close()
  }
}

describe('automatic persisted queries', () => {
  it('an unknown automatic query is sent once with its text, and is known from then on, by GET too', async () => {
    await withServer({ mode: 'apq' }, async ({ url }) => {
      expect(codeOf(await post(url, apq(OTHER)))).toBe('PERSISTED_QUERY_NOT_FOUND')
      expect((await post(url, apq(OTHER, OTHER))).json).toEqual({ data: { hello: 'hello other' } })
      expect((await post(url, apq(OTHER))).json).toEqual({ data: { hello: 'hello other' } })
      expect(await (await fetch(`${url}/graphql/p/${sha(OTHER)}`)).json()).toEqual({ data: { hello: 'hello other' } })
    })
  })

  it('a text with the hash of another is refused, and the registered text of that hash stays', async () => {
    await withServer({ mode: 'apq' }, async ({ url }) => {
      expect(codeOf(await post(url, apq(OTHER, KNOWN)))).toBe('PERSISTED_QUERY_HASH_MISMATCH')
      expect(codeOf(await post(url, apq(OTHER)))).toBe('PERSISTED_QUERY_NOT_FOUND')
      await post(url, apq(OTHER, OTHER), named('ios'))
      expect(codeOf(await post(url, apq(OTHER, KNOWN), named('web')))).toBe('PERSISTED_QUERY_HASH_MISMATCH')
      expect((await post(url, apq(OTHER), named('ios'))).json).toEqual({ data: { hello: 'hello other' } })
    })
  })

  it('an automatic query with errors is not kept', async () => {
    await withServer({ mode: 'apq' }, async ({ url }) => {
      expect(codeOf(await post(url, apq('{ nothing }', '{ nothing }')))).toBe('GRAPHQL_VALIDATION_FAILED')
      expect(codeOf(await post(url, apq('{ nothing }')))).toBe('PERSISTED_QUERY_NOT_FOUND')
    })
  })

  it('when the memory of clients is full, the oldest automatic queries are evicted, and operations of manifests stay', async () => {
    await withServer(
      { mode: 'apq', manifests },
      async ({ url }) => {
        for (let i = 0; i < 50; i++) await post(url, apq(`{ hello(name: "${i}") }`, `{ hello(name: "${i}") }`))
        expect(codeOf(await post(url, apq('{ hello(name: "30") }')))).toBe('PERSISTED_QUERY_NOT_FOUND')
        expect(codeOf(await post(url, apq('{ hello(name: "45") }')))).toBe('ok')
        expect(codeOf(await post(url, apq(KNOWN)))).toBe('ok')
      },
      makeClientMemory(5_000),
    )
  })

  it('an automatic query must have a hash as its id', async () => {
    await withServer({ mode: 'apq' }, async ({ url }) => {
      expect(codeOf(await post(url, { documentId: 'mine', query: OTHER }))).toBe('BAD_REQUEST')
    })
  })
})

describe('the mode', () => {
  it('mode off accepts texts with any hash, and no ids', async () => {
    await withServer({ mode: 'off', manifests }, async ({ url }) => {
      expect(codeOf(await post(url, apq(OTHER, KNOWN)))).toBe('ok')
      const refused = await post(url, apq(KNOWN))
      expect([codeOf(refused), refused.json.errors?.[0]?.message]).toEqual(['PERSISTED_QUERY_NOT_SUPPORTED', 'PersistedQueryNotSupported'])
    })
  })

  it('mode enforce runs only operations of the manifest, by id and as text, even if another text was registered', async () => {
    await withServer({ mode: 'enforce', manifests }, async ({ url, registry }) => {
      for (const body of [{ query: KNOWN }, { documentId: sha(KNOWN) }, apq(KNOWN), apq(KNOWN, KNOWN)])
        expect(codeOf(await post(url, body))).toBe('ok')
      for (const body of [
        { query: OTHER },
        { query: `${KNOWN} ` },
        apq(OTHER, OTHER),
        apq(OTHER),
        { query: '{ __schema { types { name } } }' },
      ]) {
        const refused = await post(url, body, { accept: 'application/graphql-response+json' })
        expect([codeOf(refused), refused.status]).toEqual(['PERSISTED_QUERY_NOT_IN_LIST', 403])
      }
      expect(await registry.metrics()).toContain('tidemark_persisted_lookups_total{result="refused"} 5')
    })
  })

  it('the mode of a client can only be stricter, and a client with another name gets the default', async () => {
    await withServer({ mode: 'apq', clients: { ios: 'enforce' }, manifests }, async ({ url }) => {
      expect(codeOf(await post(url, { query: OTHER }, named('ios')))).toBe('PERSISTED_QUERY_NOT_IN_LIST')
      expect(codeOf(await post(url, { query: OTHER }, named('anything')))).toBe('ok')
      expect(codeOf(await post(url, { query: OTHER }))).toBe('ok')
    })
    await withServer({ mode: 'enforce', clients: { ios: 'enforce', web: 'enforce' }, manifests }, async ({ url }) => {
      for (const name of ['ios', 'web', 'anything', 'constructor', '__proto__'])
        expect(codeOf(await post(url, { query: OTHER }, named(name))), name).toBe('PERSISTED_QUERY_NOT_IN_LIST')
    })
  })

  it.each([
    [
      { mode: 'enforce', manifests: ['x'], clients: { tools: 'report' } },
      /persisted.clients: tools is "report", looser than persisted.mode/,
    ],
    [{ mode: 'enforce' }, /enforce needs persisted.manifests/],
    [{ clients: { ios: 'enforce' } }, /enforce needs persisted.manifests/],
    [{ mode: 'always' }, /persisted.mode/],
  ])('the configuration refuses %j', (persisted, sentence) => {
    expect(() => makeConfig([{ name: 'test', values: { persisted } }])).toThrow(sentence)
  })
})

describe('an id that two clients gave to different texts', () => {
  it('an id of two clients selects the text of the client, and no text for other clients', async () => {
    await withServer({ mode: 'enforce', manifests }, async ({ url }) => {
      expect((await post(url, { documentId: '1' }, named('ios'))).json).toEqual({ data: { hello: 'hello ios' } })
      expect((await post(url, { documentId: '1' }, named('web'))).json).toEqual({ data: { hello: 'hello web' } })
      expect(codeOf(await post(url, { documentId: '1' }, named('tv')))).toBe('PERSISTED_QUERY_NOT_IN_LIST')
      expect(codeOf(await post(url, { query: '{ hello(name: "ios") }' }, named('web')))).toBe('PERSISTED_QUERY_NOT_IN_LIST')
      expect(codeOf(await post(url, { query: '{ hello(name: "ios") }' }, named('ios')))).toBe('ok')
    })
  })
})
