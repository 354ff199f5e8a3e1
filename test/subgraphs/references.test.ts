/** Keys of representations: each entity type of each subgraph checks its keys, alone and behind the local transport of the gateway. */
import { buildSubgraphSchema } from '@apollo/subgraph'
import type { GraphQLError } from 'graphql'
import { isObjectType, parse } from 'graphql'
import { describe, expect, it } from 'vitest'
import { makeBusinesses } from '../../config/businesses.ts'
import { makeConfig } from '../../config/config.ts'
import { localTransport } from '../../gateway/transports/local-transport.ts'
import { ourSubgraphs } from '../../subgraphs/catalog.ts'
import { DEFAULT_RULES } from '../../core/rewards.ts'
import { makeExistenceResolvers } from '../../subgraphs/feed-existence/resolvers.ts'
import { makeFeedResolvers } from '../../subgraphs/feed/resolvers.ts'
import { makeHistoryResolvers } from '../../subgraphs/history/resolvers.ts'
import { startStandalone } from '../../subgraphs/standalone.ts'
import { makeThumbupBusinesses } from '../../subgraphs/thumbup/businesses.ts'
import { makeThumbupResolvers } from '../../subgraphs/thumbup/resolvers.ts'

const config = makeConfig([])
const businesses = makeBusinesses(config.businesses)
// No test here reads a store.
const none = undefined as never
const REGIONS = 4
const resolvers = {
  history: makeHistoryResolvers(businesses, DEFAULT_RULES, none, { isLogDown: none } as never),
  thumbup: makeThumbupResolvers(makeThumbupBusinesses(config.businesses), none, { isRestricted: none } as never),
  'feed-existence': makeExistenceResolvers(businesses, none, none),
  feed: makeFeedResolvers(businesses.byName('post'), REGIONS, none, none, { follows: none } as never),
}
const schemas = ourSubgraphs(config).map(({ name, sdl }) => ({
  name,
  schema: buildSubgraphSchema([{ typeDefs: parse(sdl), resolvers: resolvers[name] as never }]),
}))
const ENTITIES = schemas.flatMap(({ name, schema }) => {
  const union = schema.getType('_Entity') as unknown as { getTypes(): readonly { name: string }[] }
  return union.getTypes().map((type) => ({ name, schema, type: type.name }))
})

/** The names of parameters in the source of a function; a pattern has an empty one. */
function parametersOf(source: string): string[] {
  let text = source
  for (let before = ''; text !== before;) [before, text] = [text, text.replaceAll(/\{[^{}]*\}/g, '')]
  return /\(([^()]*)\)/.exec(text)?.[1]?.split(',') ?? []
}

/** The gateway gives no `info` to a resolver of `length` 3 (gateway/transports/entity-fields.ts). */
it('no resolver of three parameters takes info by a default value, a rest or arguments', () => {
  const types = schemas.flatMap(({ schema }) => Object.values(schema.getTypeMap()).filter(isObjectType))
  const resolvers = types.flatMap((type) => Object.values(type.getFields())).flatMap(({ resolve }) => resolve ?? [])
  const ofThree = resolvers.filter(({ length }) => length === 3).map(String)
  expect(ofThree.length).toBeGreaterThan(10)
  expect(ofThree.filter((source) => parametersOf(source).length !== 3 || /\barguments\b/.test(source))).toEqual([])
})

const BAD_KEYS = [{}, { id: null }, { id: true }, { id: { a: 1 } }, { id: 2 ** 53 }, { id: 1.5 }, { id: '' }, { id: 'x'.repeat(100) }]

describe('an entity with an invalid key fails alone with ID_INVALID', () => {
  it('in all subgraphs', () => {
    expect(new Set(ENTITIES.map(({ name }) => name)).size).toBe(4)
  })

  describe.each(ENTITIES)('$type of $name', ({ schema, type }) => {
    const text = `query ($r: [_Any!]!) { _entities(representations: $r) { ... on ${type} { id } } }`
    // The subgraphs of a process share representations (gateway/execution/shared-batches.ts). A write into a frozen one throws.
    const representations = [...BAD_KEYS, { id: '1' }, { id: 2 }].map((key) => Object.freeze({ __typename: type, ...key }))
    const codesOf = (errors: readonly unknown[] = []) =>
      errors.map((error) => {
        const { path, originalError } = error as GraphQLError
        return [path?.join('.'), (originalError as unknown as { code: string }).code] as const
      })
    const expected = BAD_KEYS.map((_, index) => [`_entities.${index}`, 'ID_INVALID'] as const)
    const entities = [...BAD_KEYS.map(() => null), { id: '1' }, { id: '2' }]

    it('alone', async () => {
      const alone = await startStandalone(schema)
      const { data, errors } = await alone.execute(parse(text), { r: representations }, {})
      await alone.stop()
      expect(JSON.parse(JSON.stringify(data))).toEqual({ _entities: entities })
      expect(new Map(codesOf(errors))).toEqual(new Map(expected))
    })

    it('behind the local transport', async () => {
      const fetch = localTransport(schema).compile({ kind: 'query', name: undefined, text, document: parse(text) })
      const { data, errors } = await fetch.run({ r: representations }, {})
      expect(JSON.parse(JSON.stringify(data))).toEqual({ _entities: entities })
      expect(new Map(codesOf(errors))).toEqual(new Map(expected))
    })
  })
})
