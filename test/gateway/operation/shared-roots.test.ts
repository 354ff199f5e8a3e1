import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse } from 'graphql'
import { beforeEach, describe, expect, test } from 'vitest'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { localTransport } from '../../../gateway/transports/local-transport.ts'

const HEAD = 'extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key", "@shareable"])\n'
/** An interface with fields in three subgraphs, such as `Subject`, and a lookup that all three share. */
const sdlOf = (fields: string, more = '') => `${HEAD}
  type Query { things(ids: [ID!]!): [Thing] @shareable ${more} }
  interface Thing { id: ID! ${fields} }
  type Film implements Thing @key(fields: "id") { id: ID! ${fields} }
  type Book implements Thing @key(fields: "id") { id: ID! ${fields} }`
const named = ([letter = '', ...id]: string) => ({ __typename: letter === 'f' ? 'Film' : 'Book', id: letter + id.join('') })

const SUBGRAPHS = [
  { name: 'likes', sdl: sdlOf('likes: Int dislikes: Int', 'best: Thing'), fields: { likes: () => 5, dislikes: () => 1 } },
  {
    name: 'marks',
    sdl: sdlOf('place: Place').replace('interface', 'type Place { at: Int } interface'),
    fields: { place: () => ({ at: 7 }) },
  },
  { name: 'views', sdl: sdlOf('seen: Boolean'), fields: { seen: () => true } },
]

const fetches: string[] = []
beforeEach(() => void fetches.splice(0))

const engine = makeEngine(
  composeSupergraph(SUBGRAPHS),
  SUBGRAPHS.map(({ name, sdl, fields }) => {
    const type = { ...fields, __resolveReference: ({ id }: { id: string }) => named(id) }
    const Query = {
      things: (_: unknown, { ids }: { ids: string[] }) => ids.map(named),
      ...(name === 'likes' && { best: () => named('b9') }),
    }
    const transport = localTransport(buildSubgraphSchema([{ typeDefs: parse(sdl), resolvers: { Query, Film: type, Book: type } as never }]))
    return {
      name,
      transport: {
        ...transport,
        compile(operation: Parameters<typeof transport.compile>[0]) {
          const fetch = transport.compile(operation)
          return { ...fetch, run: (...args: Parameters<typeof fetch.run>) => (fetches.push(name), fetch.run(...args)) }
        },
      },
    }
  }),
  { tokensMax: 1_000 },
)

async function ask(query: string, variables?: Record<string, unknown>): Promise<unknown> {
  const prepared = engine.prepare(query)
  if ('errors' in prepared) throw prepared.errors[0]
  const { data, errors } = await prepared.execute(variables, {})
  expect(errors).toBeUndefined()
  return JSON.parse(JSON.stringify(data))
}

const THINGS = 'things(ids: ["f1", "b2"])'

describe('a shared lookup of an interface', () => {
  test.each([
    ['{ id likes dislikes }', ['likes'], { likes: 5, dislikes: 1 }],
    ['{ id place { at } }', ['marks'], { place: { at: 7 } }],
    ['{ id ...S } fragment S on Thing { seen }', ['views'], { seen: true }],
    ['{ id likes place { at } }', ['likes', 'marks'], { likes: 5, place: { at: 7 } }],
    ['{ ...A ...B } fragment A on Thing { id seen } fragment B on Thing { likes }', ['likes', 'views'], { seen: true, likes: 5 }],
    ['{ id likes place { at } seen }', ['likes', 'marks', 'views'], { likes: 5, place: { at: 7 }, seen: true }],
  ])('with %s asks only the subgraphs of its fields, each once', async (set, subgraphs, fields) => {
    const [selection = '', ...fragments] = set.split(/ (?=fragment)/)
    expect(await ask(`{ ${THINGS} ${selection} } ${fragments.join(' ')}`)).toEqual({
      things: [
        { id: 'f1', ...fields },
        { id: 'b2', ...fields },
      ],
    })
    expect(fetches.sort()).toEqual(subgraphs)
  })

  test('with fields of each type from another subgraph', async () => {
    expect(await ask(`{ ${THINGS} { id ... on Film { likes } ... on Book { seen } } }`)).toEqual({
      things: [
        { id: 'f1', likes: 5 },
        { id: 'b2', seen: true },
      ],
    })
  })

  test('beside other root fields, under aliases, in fragments at the root and with variables', async () => {
    const query = `query ($ids: [ID!]!) { __typename best { id seen likes } ...R a: things(ids: $ids) { __typename likes } }
      fragment R on Query { b: things(ids: ["b3"]) { id likes seen } b: things(ids: ["b3"]) { place { at } } }`
    expect(await ask(query, { ids: ['f4'] })).toEqual({
      __typename: 'Query',
      best: { id: 'b9', seen: true, likes: 5 },
      a: [{ __typename: 'Film', likes: 5 }],
      b: [{ id: 'b3', likes: 5, seen: true, place: { at: 7 } }],
    })
  })

  test('with excluded fields fetches only from the subgraphs of the other fields', async () => {
    const query = `query ($in: Boolean!) { ${THINGS} { likes seen @include(if: $in) } }`
    expect(await ask(query, { in: false })).toEqual({ things: [{ likes: 5 }, { likes: 5 }] })
    expect(fetches).toEqual(['likes'])
    expect(await ask(query, { in: true })).toMatchObject({ things: [{ likes: 5, seen: true }, {}] })
  })
})
