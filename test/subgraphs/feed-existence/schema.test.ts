import { buildSubgraphSchema } from '@apollo/subgraph'
import { buildSchema, parse } from 'graphql'
import { afterEach, describe, expect, test } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import { ringOf } from '../../../config/feed-existence.ts'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { localTransport } from '../../../gateway/transports/local-transport.ts'
import { existenceSdl } from '../../../subgraphs/feed-existence/schema.ts'
import { historySdl } from '../../../subgraphs/history/schema.ts'
import { thumbupSdl } from '../../../subgraphs/thumbup/schema.ts'
import { openSeen, serveSeen, viewerOf } from './opened.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const set = (values: object) => makeConfig([{ name: 'test', values }])

describe('the schema of feed existence', () => {
  test('composes with history and thumbup, and extends their subjects', () => {
    const { businesses } = makeConfig([])
    const supergraph = composeSupergraph([
      { name: 'history', sdl: historySdl(businesses) },
      { name: 'thumbup', sdl: thumbupSdl(businesses) },
      { name: 'feed-existence', sdl: existenceSdl(businesses) },
    ])
    const schema = buildSchema(supergraph, { assumeValidSDL: true })
    for (const { entity } of businesses) {
      const type = schema.getType(entity)?.toConfig() as { fields?: object }
      expect(Object.keys(type.fields ?? {})).toEqual(expect.arrayContaining(['viewerSeen', 'viewerMark', 'viewerProgress']))
    }
    expect(Object.keys(schema.getQueryType()?.getFields() ?? {})).toEqual(expect.arrayContaining(['subjects', 'unseen', 'whyHidden']))
  })

  test('gives the feed of a partner the seen subjects of its viewer with one read of the hot store', async () => {
    const opened = openSeen()
    const served = serveSeen(opened)
    closing.push(opened.close, served.stop)
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
        { name: 'feed-existence', sdl: served.subgraph.sdl },
      ]),
      [
        { name: 'feed', transport: localTransport(buildSubgraphSchema([{ typeDefs: parse(feed), resolvers }])) },
        { name: 'feed-existence', transport: localTransport(served.subgraph.schema) },
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
    await ask('mutation { recordIssued(input: { business: "video", ids: ["a", "b"] }) { recorded } }', viewerOf('7'))
    await ask('mutation { recordPlayed(input: { business: "video", ids: ["b"] }) { visible } }', viewerOf('7'))
    opened.calls.length = 0
    expect(await ask('{ feed { title viewerSeen } }', viewerOf('7'))).toEqual({
      data: {
        feed: [
          { title: 'Ta', viewerSeen: 'ISSUED' },
          { title: 'Tb', viewerSeen: 'PLAYED' },
          { title: 'Tc', viewerSeen: null },
        ],
      },
    })
    expect([opened.count('hot.getSeenMany'), opened.count('records.getFilters')]).toEqual([1, 1])
    const denied = await ask('{ whyHidden(business: "video", id: "a", viewer: "7") { hidden } }', viewerOf('7'))
    expect(denied.errors[0].extensions.code).toBe('UNAUTHORIZED_FIELD_OR_TYPE')
  })

  test('contradictory settings are refused with the reason', () => {
    expect(() => set({ existence: { shards: 4_999 } })).toThrow('existence.shards (4999) must be a multiple of stores.regions (100)')
    expect(() => set({ existence: { issuedCap: 50, issuedHardCap: 49 } })).toThrow('or the cap is never reached')
    expect(() => set({ existence: { issuedTtlMs: 3_600_000, issuedMinAgeMs: 3_600_001 } })).toThrow('are forgotten too early')
    expect(() => set({ existence: { issuedTtlMs: 3_599_999 } })).toThrow('existence.issuedTtlMs')
    expect(() => set({ existence: { fromHistory: false, guardsResume: true } })).toThrow(
      'existence.guardsResume needs existence.fromHistory',
    )
    for (const existence of [{ fromHistory: false }, { fromHistory: false, guardsResume: false }, { guardsResume: true }])
      expect(() => set({ existence })).not.toThrow()
    expect(() => set({ existence: { stagedMax: 50, stagedHardMax: 49 } })).toThrow('or viewers are refused before they are folded')
    expect(() => set({ businesses: [{ number: 1, name: 'video', entity: 'Unseen' }] })).toThrow("a type of Tidemark's own")
  })

  test('the default is 5,000 shards, or as near as the regions allow', () => {
    const shards = (regions: number): number => ringOf(set({ stores: { regions } })).shards
    expect([100, 1, 7, 17, 1_024].map(shards)).toEqual([5_000, 5_000, 4_998, 4_998, 5_120])
  })
})
