import { buildSubgraphSchema } from '@apollo/subgraph'
import { buildSchema, parse } from 'graphql'
import { describe, expect, test } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { historySdl } from '../../../subgraphs/history/schema.ts'
import { hasThumbup } from '../../../subgraphs/thumbup/businesses.ts'
import { thumbupSdl } from '../../../subgraphs/thumbup/schema.ts'
import { localTransport } from '../../../gateway/transports/local-transport.ts'
import { openMarkedStores, serveThumbup, thumbupConfig, viewerOf } from './marked-stores.ts'

describe('the schema of thumbup', () => {
  test('composes with history and extends its subjects', () => {
    const { businesses } = makeConfig([])
    const supergraph = composeSupergraph([
      { name: 'history', sdl: historySdl(businesses) },
      { name: 'thumbup', sdl: thumbupSdl(businesses) },
    ])
    const schema = buildSchema(supergraph, { assumeValidSDL: true })
    for (const { entity } of businesses) {
      const fields = schema.getType(entity)?.toConfig() as { fields?: object }
      expect(Object.keys(fields.fields ?? {}).sort()).toEqual([
        ...['business', 'dislikeCount', 'id', 'likeCount', 'likers', 'viewerMark', 'viewerProgress'],
      ])
    }
    expect(schema.getMutationType()?.getFields()).toHaveProperty('setMark')
    expect(schema.getMutationType()?.getFields()).toHaveProperty('reportProgress')
  })

  test('has the entity type of every business, also of those without likes, and is served if a business has or had likes', () => {
    const { businesses } = thumbupConfig()
    for (const entity of ['Video', 'Article', 'Gone', 'Plain'])
      expect(thumbupSdl(businesses)).toContain(`type ${entity} implements Subject @key(fields: "id") {`)
    composeSupergraph([
      { name: 'history', sdl: historySdl(businesses) },
      { name: 'thumbup', sdl: thumbupSdl(businesses) },
    ])
    const off = makeConfig([
      { name: 'test', values: { businesses: [{ number: 1, name: 'video', entity: 'Video', thumbup: { enabled: false } }] } },
    ])
    expect([hasThumbup(off), hasThumbup(thumbupConfig())]).toEqual([false, true])
    // The last business is deleted: its fields stay, and its stored marks must still be removed.
    const gone = thumbupConfig({ businesses: [{ number: 1, name: 'video', entity: 'Video', thumbup: { deleted: true } }] })
    expect(hasThumbup(gone)).toBe(true)
  })

  test('settings that persist every mark twice, or never fill a flush, are refused with the reason', () => {
    expect(() => thumbupConfig({ thumbup: { sweepAfterMs: 10_000 } })).toThrow('thumbup.sweepAfterMs (10000) must exceed')
    expect(() => thumbupConfig({ thumbup: { sweepAfterMs: 120_000, windowMs: 60_000 } })).toThrow(
      '(121000), or every mark is persisted twice: raise',
    )
    expect(() => thumbupConfig({ thumbup: { aggregatorKeysMax: 5, flushKeysMax: 6 } })).toThrow('or no flush is ever full')
    expect(() => thumbupConfig({ businesses: [{ number: 1, name: 'video', entity: 'LikeEdge' }] })).toThrow("a type of Tidemark's own")
  })

  test('the age at which marks are swept follows longer windows unless it is set', () => {
    const swept = (thumbup: object) => thumbupConfig({ thumbup }).thumbup.sweepAfterMs
    expect(swept({})).toBe(60_000)
    expect(swept({ windowMs: 60_000 })).toBe(242_000)
    expect(swept({ windowMs: 600_000, flushAgeMaxMs: 3_600_000 })).toBe(9_600_000)
    expect(swept({ windowMs: 60_000, sweepAfterMs: 122_000 })).toBe(122_000)
  })

  test('entities of a partner get their counts and marks through the gateway, which checks the scopes', async () => {
    const stores = openMarkedStores()
    const served = serveThumbup(stores)
    const feed = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key"])
      type Query { feed: [Video!]! }
      type Video @key(fields: "id") { id: ID! title: String! }`
    const resolvers = {
      Query: { feed: () => ['a', 'b', 'c'].map((id) => ({ id })) },
      Video: { title: ({ id }: { id: string }) => `T${id}` },
    }
    const engine = makeEngine(
      composeSupergraph([
        { name: 'feed', sdl: feed },
        { name: 'thumbup', sdl: served.subgraph.sdl },
      ]),
      [
        { name: 'feed', transport: localTransport(buildSubgraphSchema([{ typeDefs: parse(feed), resolvers }])) },
        { name: 'thumbup', transport: localTransport(served.subgraph.schema) },
      ],
      { tokensMax: 1_000 },
    )
    const ask = async (query: string, viewer?: ReturnType<typeof viewerOf>) => {
      const operation = engine.prepare(query)
      if ('errors' in operation) throw operation.errors[0]
      const degraded = new Set<never>()
      const context = { viewer, degraded, loaders: served.subgraph.makeLoaders(degraded) }
      return JSON.parse(JSON.stringify(await operation.execute({}, context)))
    }
    const marked = await ask(
      'mutation { setMark(input: { business: "video", id: "b", mark: LIKE }) { outcome oldMark mark changed state subject { __typename id likeCount dislikeCount } } }',
      viewerOf('7'),
    )
    expect(marked).toEqual({
      data: {
        setMark: {
          ...{ outcome: 'ACCEPTED', oldMark: 'NONE', mark: 'LIKE', changed: true, state: 'PENDING' },
          subject: { __typename: 'Video', id: 'b', likeCount: 1, dislikeCount: 0 },
        },
      },
    })
    stores.calls.length = 0
    const feedOf = await ask(
      '{ feed { title likeCount viewerMark } thumbupUser { id likes(business: "video") { edges { node { id ... on Video { title } } } } } }',
      viewerOf('7'),
    )
    expect(feedOf).toEqual({
      data: {
        feed: [
          { title: 'Ta', likeCount: 0, viewerMark: 'NONE' },
          { title: 'Tb', likeCount: 1, viewerMark: 'LIKE' },
          { title: 'Tc', likeCount: 0, viewerMark: 'NONE' },
        ],
        thumbupUser: { id: '7', likes: { edges: [{ node: { id: 'b', title: 'Tb' } }] } },
      },
    })
    expect([stores.count('hot.getMarkMany'), stores.count('cache.getCountsMany')]).toEqual([1, 1])
    const denied = await ask('{ reconcile(business: "video", ids: ["a"]) { checked } }', viewerOf('7'))
    expect(denied.errors[0].extensions.code).toBe('UNAUTHORIZED_FIELD_OR_TYPE')
    await served.stop()
    await stores.close()
  })
})
