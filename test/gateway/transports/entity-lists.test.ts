import { buildSubgraphSchema } from '@apollo/subgraph'
import { GraphQLError, execute, parse } from 'graphql'
import { describe, expect, test } from 'vitest'
import { localTransport } from '../../../gateway/transports/local-transport.ts'

const SDL = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key"])
  type Query { a: Int }
  interface Thing { id: ID! name: String }
  type Film implements Thing @key(fields: "id") { id: ID! name: String minutes: Int! }
  type Book implements Thing @key(fields: "id") { id: ID! name: String }
  type Game implements Thing @key(fields: "id") { id: ID! name: String }`

const calls: string[] = []
const fail = (id: string): never => {
  throw new GraphQLError(`${id} is wrong`, { extensions: { code: 'WRONG' } })
}
const schema = buildSubgraphSchema([
  {
    typeDefs: parse(SDL),
    resolvers: {
      Film: {
        __resolveReference: ({ id }: { id: string }) => (id === 'gone' ? null : id === 'bad' ? fail(id) : { id }),
        name: ({ id }: { id: string }) => calls.push(`Film ${id}`) && `film ${id}`,
        minutes: ({ id }: { id: string }) => (id === 'short' ? null : 90),
      },
      Book: {
        __resolveReference: ({ id }: { id: string }) => Promise.resolve(id === 'bad' ? Promise.reject(new GraphQLError('late')) : { id }),
        name: async ({ id }: { id: string }) => (id === 'torn' ? fail(id) : `book ${id}`),
      },
    } as never,
  },
])

const DOCUMENT = `query ($r: [_Any!]!) { _entities(representations: $r) {
  ... on Film { id name minutes } ... on Book { __typename n: name ...B } ... on Game { id } } } fragment B on Book { id }`
/** The same without an alias and a named fragment. */
const PLAIN_DOCUMENT = `query ($r: [_Any!]!) { _entities(representations: $r) {
  ... on Film { id name minutes } ... on Book { __typename name id } ... on Game { id } } }`
const of = (...representations: string[]) => representations.map((each) => ({ __typename: each.split(' ')[0], id: each.split(' ')[1] }))

const plain = (result: unknown) => JSON.parse(JSON.stringify(result)) as { data?: unknown; errors?: { message: string; path: unknown[] }[] }
const byPath = ({ errors = [] }: ReturnType<typeof plain>) => new Set(errors.map(({ message, path }) => `${path.join('.')}: ${message}`))

async function both(text: string, variables: Record<string, unknown>) {
  const operation = { kind: 'query', name: undefined, text, document: parse(text) } as const
  const ours = plain(await localTransport(schema).compile(operation).run(variables, {}))
  const theirs = plain(await execute({ schema, document: parse(text), variableValues: variables, contextValue: {} }))
  return { ours, theirs }
}

describe('a fetch of entities of several types has the answer of the subgraph itself', () => {
  test.each([
    ['of one type', of('Film 1', 'Film 2')],
    ['of several types, mixed', of('Book 1', 'Film 1', 'Book 2', 'Film 1', 'Game 3', 'Film 2')],
    ['without any', []],
    ['of a type without a reference resolver', of('Game 1')],
    ['with one that is gone', of('Book 1', 'Film gone', 'Film 2')],
    ['with a failed reference', of('Book 2', 'Book bad', 'Film 1', 'Book 1')],
    ['with failed fields', of('Film 1', 'Book torn', 'Book 1', 'Film short')],
  ])('%s', async (_name, r) => {
    for (const document of [DOCUMENT, PLAIN_DOCUMENT]) {
      const { ours, theirs } = await both(document, { r })
      expect(ours.data).toEqual(theirs.data)
      expect(byPath(ours)).toEqual(byPath(theirs))
      expect(ours.errors?.length).toBe(theirs.errors?.length)
    }
  })

  test('of a type that the document does not name', async () => {
    const text = 'query ($r: [_Any!]!) { _entities(representations: $r) { ... on Film { name } ... on Book { name } } }'
    const { ours, theirs } = await both(text, { r: of('Film 1', 'Game 1', 'Book 1') })
    expect(ours).toEqual(theirs)
    expect(ours.data).toEqual({ _entities: [{ name: 'film 1' }, {}, { name: 'book 1' }] })
  })

  test('in several fields with lists of their own', async () => {
    const text = `query ($a: [_Any!]!, $b: [_Any!]!) { x: _entities(representations: $a) { ... on Film { name } ... on Book { id } }
      y: _entities(representations: $b) { ... on Film { minutes } } }`
    const { ours, theirs } = await both(text, { a: of('Book 2', 'Film 1'), b: of('Film short', 'Film 1') })
    expect(ours.data).toEqual(theirs.data)
    expect(byPath(ours)).toEqual(byPath(theirs))
  })
})

test('a reference that throws at once fails its own entity alone', async () => {
  const operation = { kind: 'query', name: undefined, text: DOCUMENT, document: parse(DOCUMENT) } as const
  const answer = plain(
    await localTransport(schema)
      .compile(operation)
      .run({ r: of('Book 1', 'Film bad', 'Game 2') }, {}),
  )
  expect(answer.data).toEqual({ _entities: [{ __typename: 'Book', n: 'book 1', id: '1' }, null, { id: '2' }] })
  expect(answer.errors?.map(({ path }) => path)).toEqual([['_entities', 1]])
})

test('each entity is resolved once', async () => {
  calls.splice(0)
  await localTransport(schema)
    .compile({ kind: 'query', name: undefined, text: DOCUMENT, document: parse(DOCUMENT) })
    .run({ r: of('Film 1', 'Book 1', 'Film 2') }, {})
  expect(calls).toEqual(['Film 1', 'Film 2'])
})
