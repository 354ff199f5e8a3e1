import { buildSubgraphSchema } from '@apollo/subgraph'
import * as fc from 'fast-check'
import { GraphQLError, execute, parse } from 'graphql'
import type { GraphQLResolveInfo } from 'graphql'
import { describe, expect, test } from 'vitest'
import { localTransport } from '../../../gateway/transports/local-transport.ts'
import { compileRootList } from '../../../gateway/transports/root-list.ts'
import { expectSame, plainAnswer } from './plain-answers.ts'
import { perform, type Deed } from './resolver-deeds.ts'

const SDL = `interface Item { id: ID! count: Int must: Int! part: Part }
  type Film implements Item { id: ID! count: Int must: Int! part: Part length: Int own: Int tags: [Int] who(by: Int): String }
  type Book implements Item { id: ID! count: Int must: Int! part: Part pages: Int }
  type Part { name: String }
  enum Order { UP DOWN }
  type Query {
    items(ids: [ID!], order: Order = UP, deep: Deep): [Item]
    films: [Film]
    needed: [Film!]
    plainItems: [Item]
    number: Int
    any: [Any]
    resolved: [Resolved]
  }
  union Any = Film | Book
  interface Resolved { id: ID! }
  type One implements Resolved { id: ID! }
  type Mutation { items: [Item] }
  input Deep { ids: [Int!] = [3] }`

let root: Deed = { how: 'return', value: () => [] }
let given: [args: unknown, context: unknown, info: GraphQLResolveInfo][] = []
const list = (_: unknown, args: unknown, context: unknown, info: GraphQLResolveInfo) => {
  given.push([args, context, info])
  return perform(root)
}
let seen: [context: unknown, variables: unknown][] = []
const fields = {
  count: (item: { deed?: Deed }) => perform(item.deed ?? { how: 'return', value: () => 1 }),
}
const who = (_: unknown, __: unknown, context: unknown, { variableValues }: GraphQLResolveInfo) => {
  seen.push([context, variableValues])
  return 'me'
}
const schema = buildSubgraphSchema([
  {
    typeDefs: parse(SDL),
    resolvers: {
      Query: { items: list, films: list, needed: list, any: list, resolved: list, number: () => 1 },
      Mutation: { items: list },
      Resolved: { __resolveType: () => 'One' },
      Order: { UP: 1, DOWN: -1 },
      Film: { ...fields, who },
      Book: fields,
    } as never,
  },
])

const CONTEXT = { who: 'me' }
const ITEMS = '{ items { __typename id count must part { name } } }'

function ours(text: string, variables: Record<string, unknown> = {}) {
  return localTransport(schema)
    .compile({ kind: 'query', name: undefined, text, document: parse(text) })
    .run(variables, CONTEXT)
}

/** The answers of this project and of graphql-js. */
async function both(text: string, variables: Record<string, unknown> = {}) {
  given = []
  const mine = plainAnswer(await ours(text, variables))
  const theirs = plainAnswer(await execute({ schema, document: parse(text), variableValues: variables, contextValue: CONTEXT }))
  return [mine, theirs] as const
}

const item = (at: number, more: object = {}) => ({ __typename: at % 2 === 0 ? 'Film' : 'Book', id: `i${at}`, must: at, ...more })
const returning = (value: unknown): Deed => ({ how: 'return', value: () => value })

describe('a query of one list without graphql-jit', () => {
  test.each([
    [ITEMS, true],
    ['query ($ids: [ID!]) { items(ids: $ids, order: DOWN) { id ... on Film { length } ... on Book { pages } } }', true],
    ['{ other: films { id } }', true],
    ['{ films { other: id } }', false],
    ['{ films { id @skip(if: false) } }', false],
    ['{ films @include(if: true) { id } }', false],
    ['{ items { id ... on Item { count } } }', false],
    ['{ films { ...F } } fragment F on Film { id }', false],
    ['{ films { id } items { id } }', false],
    ['{ needed { id } }', false],
    ['{ plainItems { id } }', false],
    ['{ number }', false],
    ['mutation { items { id } }', false],
    ['{ resolved { id } }', false],
    ['{ any { ... on Film { id length } ... on Book { pages } } }', true],
    ['{ any { __typename } }', true],
    ['{ __proto__: films { id } }', false],
    ['{ constructor: films { id } }', true],
  ])('%s runs without graphql-jit: %s', async (text, isHandled) => {
    expect(compileRootList(schema, parse(text)) !== undefined).toBe(isHandled)
    root = returning([item(0, { length: 90 }), item(2)])
    const [mine, theirs] = await both(text)
    expect(mine).toEqual(theirs)
    expect(mine.errors).toBeUndefined()
  })

  test('items of several types stay in their order', async () => {
    root = returning([item(1, { pages: 5 }), item(2, { length: 90 }), null, item(3), item(4)])
    const [mine, theirs] = await both('{ items { __typename id ... on Film { length } ... on Book { pages } } }')
    expect(mine).toEqual(theirs)
    expect(mine.data).toEqual({
      items: [
        { __typename: 'Book', id: 'i1', pages: 5 },
        { __typename: 'Film', id: 'i2', length: 90 },
        null,
        { __typename: 'Book', id: 'i3', pages: null },
        { __typename: 'Film', id: 'i4', length: null },
      ],
    })
  })

  test('any lists, values, errors and promises give the answer of graphql-js', async () => {
    const refused = () => new GraphQLError('refused', { extensions: { code: 'REFUSED' } })
    const deed = fc.constantFrom<Deed | undefined>(
      undefined,
      returning(null),
      returning('text'),
      { how: 'late', value: () => 2 },
      { how: 'throw', value: refused },
      { how: 'reject', value: () => 'no error' },
    )
    const anyItem: fc.Arbitrary<unknown> = fc.oneof(
      { weight: 4, arbitrary: fc.tuple(fc.nat(5), deed).map(([at, each]) => item(at, each && { deed: each })) },
      fc.constantFrom<unknown>(
        null,
        undefined,
        refused(),
        item(1, { must: null }),
        item(2, { id: undefined }),
        item(3, { part: new Error('no part') }),
        item(4, { part: { name: 'p', more: 1 } }),
        item(6, { count: 9 }),
        { __typename: 'Film' },
      ),
    )
    const now = fc.array(anyItem, { maxLength: 5 })
    const pending = (value: unknown) =>
      fc.constantFrom(
        () => Promise.resolve(value),
        () => value,
        () => Promise.reject(refused()),
      )
    const lists: fc.Arbitrary<() => unknown> = fc.oneof(
      { weight: 4, arbitrary: now.map((items) => () => items) },
      { weight: 2, arbitrary: now.chain((items) => fc.tuple(...items.map(pending))).map((items) => () => items.map((each) => each())) },
      now.map((items) => () => new Set(items)),
      fc.constantFrom<() => unknown>(
        () => null,
        () => undefined,
        () => 5,
        () => ({}),
        refused,
      ),
    )
    const how = fc.constantFrom<Deed['how']>('return', 'return', 'resolve', 'late', 'throw', 'reject')
    await fc.assert(
      fc.asyncProperty(how, lists, fc.boolean(), async (way, value, isOfFilms) => {
        // Only errors are thrown or rejected here: nobody would handle the promises in a list.
        root = { how: way, value: way === 'throw' || way === 'reject' ? refused : value }
        const [mine, theirs] = await both(isOfFilms ? '{ films { id count must part { name } } }' : ITEMS)
        expectSame(mine, theirs)
        expect(given).toHaveLength(2)
      }),
      { numRuns: 500 },
    )
  })

  test.each([[{ id: 'x' }], [{ __typename: 'Part', id: 'x' }], [{ __typename: 7, id: 'x' }], [5], ['text']])(
    'an item without a valid __typename is null: %j',
    async (odd) => {
      root = returning([item(1), odd, item(2)])
      const [mine, theirs] = await both('{ items { id } }')
      expect(mine.data).toEqual({ items: [{ id: 'i1' }, null, { id: 'i2' }] })
      expect(mine.data).toEqual(theirs.data)
      expect(mine.errors).toMatchObject([{ path: ['items', 1], message: '"Query.items" returned an item without a valid __typename' }])
      expect(theirs.errors).toMatchObject([{ path: ['items', 1] }])
    },
  )

  test('the resolver gets the same arguments and variables as from graphql-js', async () => {
    root = returning([item(0)])
    const text = 'query ($ids: [ID!], $order: Order, $deep: Deep) { items(ids: $ids, order: $order, deep: $deep) { id } }'
    for (const variables of [{}, { ids: ['a', 'b'] }, { ids: 5 }, { ids: [5, 'x'], order: 'DOWN' }, { deep: {} }, { ids: null, more: 1 }]) {
      const [mine, theirs] = await both(text, variables)
      expect(mine).toEqual(theirs)
      const [own, reference] = given
      expect(own?.[0]).toEqual(reference?.[0])
      expect(own?.[1]).toBe(CONTEXT)
      expect(own?.[2].variableValues).toEqual(reference?.[2].variableValues)
    }
    const [mine, theirs] = await both(
      'query ($__proto__: [ID!]) { items(ids: $__proto__) { id } }',
      JSON.parse('{ "__proto__": ["a"] }') as Record<string, unknown>,
    )
    expect(mine).toEqual(theirs)
    expect(given.map(([args]) => args)).toMatchObject([{ ids: ['a'] }, { ids: ['a'] }])
    for (const variables of [{ ids: [null] }, { order: 'SIDEWAYS' }, { deep: { ids: ['x'] } }]) {
      const [mine, theirs] = await both(text, variables)
      expect(mine).toEqual(theirs)
      expect(mine.errors).toHaveLength(1)
      expect(given).toHaveLength(0)
    }
  })

  test('the resolver gets the same info as from graphql-js, with all selected fields', async () => {
    root = returning([item(0)])
    await both('query Named { all: items(order: DOWN) { id count } }')
    const [own, reference] = given.map(([, , { fieldNodes, fragments, operation, variableValues, ...info }]) => ({
      ...info,
      ...{ fragments: { ...fragments }, name: operation.name?.value, variables: { ...variableValues } },
      selected: fieldNodes[0]?.selectionSet?.selections.map((node) => node.kind === 'Field' && node.name.value),
    }))
    expect(own).toEqual(reference)
    expect(own?.selected).toEqual(['id', 'count'])
  })

  test('an error of the answer has the thrown error as its originalError', async () => {
    const refused = new GraphQLError('refused', { extensions: { code: 'REFUSED' } })
    root = { how: 'throw', value: () => refused }
    const { data, errors } = await ours('{ items { id } }')
    expect(data).toEqual({ items: null })
    expect(errors).toMatchObject([{ message: 'refused', path: ['items'], extensions: { code: 'REFUSED' }, originalError: refused }])
  })

  test('a resolver that changes its arguments does not change the variables', async () => {
    const variables = { ids: ['c', 'a', 'b'], deep: { ids: [2, 1] } }
    const lastArgs = () => given.at(-1)?.[0] as typeof variables
    root = {
      how: 'return',
      value: () => {
        const { ids, deep } = lastArgs()
        deep.ids.reverse()
        return ids.sort().map((id) => ({ __typename: 'Film', id }))
      },
    }
    const ofLeaves = 'query ($ids: [ID!]) { items(ids: $ids, deep: { ids: [2, 1] }) { id } }'
    const ofObjects = 'query ($ids: [ID!], $deep: Deep) { items(ids: $ids, deep: $deep) { id } }'
    for (const text of [ofLeaves, ofObjects]) {
      const [mine, theirs] = await both(text, variables)
      expect(mine).toEqual(theirs)
      expect(mine.data).toEqual({ items: [{ id: 'a' }, { id: 'b' }, { id: 'c' }] })
      expect(lastArgs().deep.ids).toEqual([1, 2])
      expect(variables).toEqual({ ids: ['c', 'a', 'b'], deep: { ids: [2, 1] } })
    }
  })

  test('resolvers of the items get the context and the variables, once each', async () => {
    root = returning([item(0), item(2)])
    seen = []
    await ours('query ($ids: [ID!]) { items(ids: $ids) { ... on Film { who } } }', { ids: ['a'] })
    expect(seen).toEqual(Array.from({ length: 2 }, () => [CONTEXT, { ids: ['a'] }]))
    expect(seen[0]?.[0]).toBe(CONTEXT)
  })

  test('an error in place of an item keeps its message, code and path, and errors are in the order of the items', async () => {
    const invalid = new GraphQLError('invalid', { extensions: { code: 'ID_INVALID' } })
    root = returning([item(1, { deed: { how: 'reject', value: () => new Error('no count') } }), invalid, item(2, { must: 'x' }), item(3)])
    const [mine, theirs] = await both('{ items { id must count } }')
    expectSame(mine, theirs)
    expect(mine.errors).toMatchObject([
      { message: 'no count', path: ['items', 0, 'count'] },
      { message: 'invalid', path: ['items', 1], extensions: { code: 'ID_INVALID' } },
      { path: ['items', 2, 'must'] },
    ])
  })

  test('a __typename that throws fails only its item', async () => {
    const odd = {
      get __typename(): never {
        throw new Error('broken')
      },
    }
    for (const items of [
      [item(0), odd, item(1)],
      [Promise.resolve(item(0)), odd, item(1)],
    ]) {
      root = returning(items)
      const [mine, theirs] = await both('{ items { id } }')
      expectSame(mine, theirs)
      expect(mine.errors).toMatchObject([{ message: 'broken', path: ['items', 1] }])
      expect(mine.data).toEqual({ items: [{ id: 'i0' }, null, { id: 'i1' }] })
    }
  })

  test('a property that is a rejected promise fails only its field, although another resolver is late', async () => {
    root = { how: 'return', value: () => [item(0, { own: Promise.reject(new Error('no own')), deed: { how: 'late', value: () => 2 } })] }
    const [mine, theirs] = await both('{ films { id own count } }')
    expect(mine).toEqual(theirs)
    expect(mine.data).toEqual({ films: [{ id: 'i0', own: null, count: 2 }] })
  })

  test.each<[string, () => object, unknown]>([
    [
      'in a promised list',
      () => ({ own: 1, tags: Promise.resolve([Promise.reject(new Error('no tag')), 2]) }),
      { own: 1, tags: [null, 2] },
    ],
    [
      'in a list beside a property that throws',
      () => ({
        get own(): never {
          throw new Error('no own')
        },
        tags: [Promise.reject(new Error('no tag')), 2],
      }),
      { own: null, tags: [null, 2] },
    ],
  ])('a rejected promise %s fails only its place, although another resolver is late', async (_name, more, expected) => {
    const late: Deed = { how: 'late', value: () => 2 }
    const odd = () => Object.defineProperties(item(0, { deed: late }), Object.getOwnPropertyDescriptors(more()))
    root = { how: 'return', value: () => [odd()] }
    const [mine, theirs] = await both('{ films { own tags count } }')
    expectSame(mine, theirs)
    expect(mine.data).toEqual({ films: [{ ...(expected as object), count: 2 }] })
  })

  test('each property is read once, although another one throws', async () => {
    let runs = 0
    const query = {
      // oxlint-disable-next-line unicorn/no-thenable -- the case of the test
      then(take: (value: unknown) => void) {
        runs += 1
        take(5)
      },
    }
    const odd = {
      own: query,
      get tags(): never {
        throw new Error('no tags')
      },
    }
    root = returning([odd])
    const mine = plainAnswer(await ours('{ films { own tags } }'))
    expect(mine).toMatchObject({ data: { films: [{ own: 5, tags: null }] }, errors: [{ message: 'no tags', path: ['films', 0, 'tags'] }] })
    expect(runs).toBe(1)
  })

  test('values that look like lists are none', async () => {
    for (const value of [{ [Symbol.iterator]: null }, { length: 1, 0: item(0) }, 'text']) {
      root = returning(value)
      const [mine, theirs] = await both('{ films { id } }')
      expectSame(mine, theirs)
      expect(mine.errors).toMatchObject([{ message: '"Query.films" returned a value that is not a list', path: ['films'] }])
    }
    root = returning([item(0, { tags: { [Symbol.iterator]: null, length: 1, 0: 5 } })])
    const [mine, theirs] = await both('{ films { tags } }')
    expectSame(mine, theirs)
    expect(mine.data).toEqual({ films: [{ tags: null }] })
  })

  test('many invalid variables have as many errors as in graphql-js', async () => {
    const [mine, theirs] = await both('query ($ids: [ID!]) { items(ids: $ids) { id } }', { ids: Array.from({ length: 60 }, () => null) })
    expect(mine).toEqual(theirs)
    expect(mine.errors).toHaveLength(51)
  })

  test('the answer is not a promise if no resolver returns one', () => {
    root = returning([item(0)])
    expect(ours('{ items { id count } }')).toEqual({ data: { items: [{ id: 'i0', count: 1 }] } })
  })
})
