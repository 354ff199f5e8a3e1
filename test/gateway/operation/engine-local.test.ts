import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse } from 'graphql'
import { describe, expect, test } from 'vitest'
import { localTransport } from '../../../gateway/transports/local-transport.ts'
import { compileRewrites, renamedKeys } from '../../../gateway/execution/rewrites.ts'

type Fields = Record<string, unknown>

function transportOf(sdl: string, resolvers: Record<string, Fields>) {
  const head = 'extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key"])\n'
  return localTransport(buildSubgraphSchema([{ typeDefs: parse(head + sdl), resolvers: resolvers as never }]))
}

async function fetchOf(transport: ReturnType<typeof localTransport>, text: string, variables: Fields = {}, context: object = {}) {
  return JSON.parse(
    JSON.stringify(await transport.compile({ kind: 'query', name: undefined, text, document: parse(text) }).run(variables, context)),
  ) as unknown
}

const ENTITIES = 'query ($representations: [_Any!]!) { _entities(representations: $representations) { ...on Video { title } } }'

describe('the local transport', () => {
  test('two resolvers whose type and field concatenate to one name stay separate', async () => {
    const transport = transportOf('type Query { a: A ab: Ab } type A { bC: String } type Ab { C: String }', {
      Query: { a: () => ({}), ab: () => ({}) },
      A: { bC: () => 'A.bC' },
      Ab: { C: () => 'Ab.C' },
    })
    expect(await fetchOf(transport, '{ a { bC } ab { C } }')).toEqual({ data: { a: { bC: 'A.bC' }, ab: { C: 'Ab.C' } } })
    // The names that jit would use: A + bC and Ab + C are both "AbC".
    const clash = transportOf('type Query { a: A ab: Ab } type A { bC: String } type Ab { C: String x: String }', {
      Query: { a: () => ({}), ab: () => ({}) },
      A: { bC: () => 'first' },
      Ab: { C: () => 'second', x: () => 'x' },
    })
    expect(await fetchOf(clash, '{ ab { C x } a { bC } }')).toEqual({ data: { ab: { C: 'second', x: 'x' }, a: { bC: 'first' } } })
  })

  test('a type may be resolved asynchronously', async () => {
    const transport = transportOf('type Query { any: U } union U = A | B type A { a: Int } type B { b: Int }', {
      Query: { any: () => ({ b: 2 }) },
      U: { __resolveType: async () => 'B' },
    })
    expect(await fetchOf(transport, '{ any { __typename ... on B { b } } }')).toEqual({ data: { any: { __typename: 'B', b: 2 } } })
  })

  test('a reference resolver runs for each entity, and may throw, reject or find nothing', async () => {
    const transport = transportOf('type Query { q: Int } type Video @key(fields: "id") { id: ID! title: String }', {
      Video: {
        __resolveReference({ id }: { id: string }) {
          if (id === 'throws') throw new Error('thrown')
          if (id === 'rejects') return Promise.reject(new Error('rejected'))
          return id === 'none' ? null : id === 'later' ? Promise.resolve({ title: 'later' }) : { title: `title ${id}` }
        },
      },
    })
    const representations = ['1', 'throws', 'later', 'none', 'rejects'].map((id) => ({ __typename: 'Video', id }))
    expect(await fetchOf(transport, ENTITIES, { representations })).toMatchObject({
      data: { _entities: [{ title: 'title 1' }, null, { title: 'later' }, null, null] },
      errors: expect.arrayContaining([
        expect.objectContaining({ message: 'thrown', path: ['_entities', 1] }),
        expect.objectContaining({ message: 'rejected', path: ['_entities', 4] }),
      ]) as unknown,
    })
  })

  test('a type without a reference resolver uses the representations as its objects', async () => {
    const transport = transportOf('type Query { q: Int } type Video @key(fields: "id") { id: ID! title: String }', {
      Video: { title: ({ id }: { id: string }) => `title ${id}` },
    })
    expect(await fetchOf(transport, ENTITIES, { representations: [{ __typename: 'Video', id: '7' }] })).toEqual({
      data: { _entities: [{ title: 'title 7' }] },
    })
  })

  test('entities of several types in one fetch are resolved by their types', async () => {
    const transport = transportOf(
      'type Query { q: Int } type A @key(fields: "id") { id: ID! a: String } type B @key(fields: "id") { id: ID! b: String }',
      {
        A: { a: ({ id }: { id: string }) => `a${id}` },
        B: { b: ({ id }: { id: string }) => `b${id}` },
      },
    )
    const text = 'query ($r: [_Any!]!) { _entities(representations: $r) { ...on A { a } ...on B { b } } }'
    const representations = [
      { __typename: 'B', id: '1' },
      { __typename: 'A', id: '2' },
    ]
    expect(await fetchOf(transport, text, { r: representations })).toEqual({ data: { _entities: [{ b: 'b1' }, { a: 'a2' }] } })
  })

  test('a fetch is compiled once', () => {
    const transport = transportOf('type Query { q: Int }', {})
    const operation = { kind: 'query', name: undefined, text: '{ q }', document: parse('{ q }') } as const
    expect(transport.compile(operation)).toBe(transport.compile(operation))
  })
})

describe('rewrites', () => {
  const possible = (name: string): ReadonlySet<string> => new Set(name === 'Animal' ? ['Dog', 'Cat'] : [name])

  test('a key is renamed only in objects of its type, also through lists', () => {
    const rename = [{ KeyRenamer: { path: [{ Key: 'pets' }, { TypenameEquals: ['Cat'] }, { Key: '_0' }], renameKeyTo: 'name' } }]
    const data = { pets: [[{ __typename: 'Cat', _0: 'Tom' }], { __typename: 'Dog', _0: 'kept' }, null, 'text'] }
    compileRewrites(rename, possible)?.(data)
    expect(data).toEqual({ pets: [[{ __typename: 'Cat', name: 'Tom' }], { __typename: 'Dog', _0: 'kept' }, null, 'text'] })
    expect([...renamedKeys(rename)]).toEqual([['_0', 'name']])
  })

  test('a value is set for every possible type of a condition', () => {
    const set = [{ ValueSetter: { path: [{ TypenameEquals: ['Animal'] }, { Key: '__typename' }], setValueTo: 'Animal' } }]
    const rewrite = compileRewrites(set, possible)
    const objects = [{ __typename: 'Cat' }, { __typename: 'Tree' }]
    for (const object of objects) rewrite?.(object)
    expect(objects).toEqual([{ __typename: 'Animal' }, { __typename: 'Tree' }])
  })

  test('an empty list of rewrites compiles to undefined', () => {
    expect(compileRewrites(undefined, possible)).toBeUndefined()
    expect(compileRewrites([], possible)).toBeUndefined()
  })
})
