import { buildSubgraphSchema } from '@apollo/subgraph'
import * as fc from 'fast-check'
import { GraphQLError, GraphQLScalarType, execute, parse } from 'graphql'
import type { GraphQLResolveInfo } from 'graphql'
import { describe, expect, test } from 'vitest'
import { localTransport } from '../../../gateway/transports/local-transport.ts'
import { expectSame, plainAnswer } from './plain-answers.ts'
import { anyDeed, perform, type Deed, type Deeds } from './resolver-deeds.ts'

const SDL = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key"])
  scalar Loud
  enum Level { LOW HIGH }
  type Query { a: Int }
  type Thing @key(fields: "id") {
    id: ID! count: Int must: Int! ratio: Float text: String flag: Boolean level: Level loud: Loud key: ID
    part: Part parts: [Part!] inner: Inner grid: [[Int!]] own: Int numbers: [Int] sized(by: Int = 2): Int aged(by: Int): Int
    three: String defaulted: String rest: String
  }
  type Part { size: Int name: String! of: Part }
  type Inner { deep: Int }`

const loud = new GraphQLScalarType({
  name: 'Loud',
  serialize(value) {
    if (typeof value === 'number') throw new TypeError('a number is not loud')
    return value === 'nothing' ? undefined : `${String(value).toUpperCase()}!`
  },
})

const asking = (fields: string) => `query ($r: [_Any!]!) { _entities(representations: $r) { ... on Thing { ${fields} } } }`
const FIELDS = ['count', 'must', 'ratio', 'text', 'flag', 'level', 'loud', 'key', 'part', 'parts', 'grid'] as const
const DOCUMENT = asking(
  '__typename id own count must ratio text flag level loud key part { size name of { name } } parts { size name __typename } grid',
)

let deeds: readonly Deeds[] = []
const infos: GraphQLResolveInfo[] = []
const resolverOf = (name: string) => (thing: { at: number }, _: unknown, __: unknown, info: GraphQLResolveInfo) => {
  infos.push(info)
  return perform(deeds[thing.at]?.[name] ?? { how: 'return', value: () => null })
}
const schema = buildSubgraphSchema([
  {
    typeDefs: parse(SDL),
    resolvers: {
      Loud: loud,
      Level: { LOW: 1, HIGH: 'high' },
      Inner: { deep: () => 11 },
      Thing: {
        __resolveReference: (reference: { at: number }) =>
          perform(deeds[reference.at]?.['thing'] ?? { how: 'return', value: () => reference }),
        ...Object.fromEntries(FIELDS.map((name) => [name, resolverOf(name)])),
        sized: (_: unknown, { by }: { by: number }) => by * 10,
        aged: (_: unknown, { by = 7 }: { by?: number }) => by,
        inner: () => ({ deep: 1 }),
        three: (thing: { id: string }, given: object, { who }: typeof CONTEXT) => `${thing.id} ${who} ${Object.keys(given).length}`,
        defaulted: (thing: { id: string }, given = {}, { who } = CONTEXT, { fieldName }: GraphQLResolveInfo) =>
          `${thing.id} ${who} ${Object.keys(given).length} ${fieldName}`,
        rest: (...given: unknown[]) => `${given.length} ${(given[3] as GraphQLResolveInfo).path.key}`,
      },
    } as never,
  },
])

const plain = (result: unknown) => plainAnswer<{ _entities: unknown[] }>(result)
const things = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, at) => ({ __typename: 'Thing', id: `t${at}`, at, ...more }))

const CONTEXT = { who: 'me' }

function run(text: string, variables: Record<string, unknown>) {
  return localTransport(schema)
    .compile({ kind: 'query', name: undefined, text, document: parse(text) })
    .run(variables, CONTEXT)
}

async function ours(text: string, r: readonly object[], more: object = {}) {
  return plain(await run(text, { r, ...more }))
}

/** The answer of graphql-js and `@apollo/subgraph`. */
async function reference(text: string, r: readonly object[], more: object = {}) {
  return plain(await execute({ schema, document: parse(text), variableValues: { r, ...more }, contextValue: CONTEXT }))
}

async function both(text: string, r: readonly object[], more: object = {}) {
  return [await ours(text, r, more), await reference(text, r, more)] as const
}

const valid: Deeds = {
  count: { how: 'resolve', value: () => 1 },
  must: { how: 'return', value: () => 2 },
  ratio: { how: 'late', value: () => 0.5 },
  text: { how: 'resolve', value: () => 'x' },
  flag: { how: 'return', value: () => true },
  level: { how: 'resolve', value: () => 'high' },
  loud: { how: 'resolve', value: () => 'hey' },
  key: { how: 'return', value: () => 5 },
  part: { how: 'resolve', value: () => ({ name: 'p', of: { name: 'q' }, more: 1 }) },
  parts: { how: 'return', value: () => [{ name: 'p', size: 1 }] },
  grid: { how: 'resolve', value: () => [[1], null, []] },
}

describe('fetches of entities without graphql-jit', () => {
  test('valid values give the answer of graphql-js', async () => {
    deeds = [valid, { ...valid, key: { how: 'return', value: () => 'five' }, part: { how: 'return', value: () => null } }]
    const [mine, theirs] = await both(DOCUMENT, things(2, { own: 9 }))
    expect(mine).toEqual(theirs)
    expect(mine.data._entities).toHaveLength(2)
    expect(mine.data._entities[1]).toEqual({
      ...{ __typename: 'Thing', id: 't1', own: 9, count: 1, must: 2, ratio: 0.5, text: 'x', flag: true, level: 'HIGH', loud: 'HEY!' },
      ...{ key: 'five', part: null, parts: [{ __typename: 'Part', name: 'p', size: 1 }], grid: [[1], null, []] },
    })
  })

  test('any values, errors and promises give the answer of graphql-js', async () => {
    const all: fc.Arbitrary<Deeds> = fc.record(Object.fromEntries(FIELDS.map((name) => [name, anyDeed])))
    const some = fc.tuple(all, fc.subarray([...FIELDS])).map(([each, odd]): Deeds => ({
      ...valid,
      ...Object.fromEntries(Object.entries(each).filter(([name]) => odd.some((one) => one === name))),
    }))
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(all, some, some), { minLength: 1, maxLength: 4 }), async (generated) => {
        deeds = generated
        infos.splice(0)
        const mine = await ours(DOCUMENT, things(generated.length))
        expect(infos).toHaveLength(generated.length * FIELDS.length)
        const theirs = await reference(DOCUMENT, things(generated.length))
        expectSame(mine, theirs)
      }),
      { numRuns: 400 },
    )
  })

  test('valid values, nulls and errors give the answer of graphql-js', async () => {
    const coded = () => new GraphQLError('refused', { extensions: { code: 'REFUSED' } })
    const mild = (name: string): fc.Arbitrary<Deed> =>
      fc.constantFrom<Deed>(
        { how: 'return', value: () => null },
        { how: 'late', value: valid[name]?.value ?? coded },
        // `@apollo/subgraph` loses all entities if a reference throws at once.
        ...(name === 'thing' ? [] : [{ how: 'throw', value: coded } as const]),
        { how: 'reject', value: () => new Error('not there') },
        { how: 'resolve', value: coded },
        ...(name === 'parts' ? [{ how: 'return', value: () => [{ name: 'p' }, coded()] } as const] : []),
        ...(name === 'part' ? [{ how: 'return', value: () => ({ name: 'p', size: coded() }) } as const] : []),
      )
    const entity = fc.subarray([...FIELDS, 'thing'], { maxLength: 2 }).chain((odd) => {
      const chosen: fc.Arbitrary<Deeds> = fc.record(Object.fromEntries(odd.map((name) => [name, mild(name)])))
      return chosen.map((each): Deeds => ({ ...valid, ...each }))
    })
    await fc.assert(
      fc.asyncProperty(fc.array(entity, { minLength: 1, maxLength: 4 }), async (generated) => {
        deeds = generated
        const raw = await run(DOCUMENT, { r: things(generated.length) })
        for (const { message, originalError } of raw.errors ?? [])
          if (['refused', 'not there'].includes(message)) expect(originalError).toBeInstanceOf(Error)
        const mine = plain(raw)
        const theirs = await reference(DOCUMENT, things(generated.length))
        expectSame(mine, theirs)
      }),
      { numRuns: 400 },
    )
  })

  const references: [string, Deed][] = [
    ['null', { how: 'return', value: () => null }],
    ['a promise', { how: 'late', value: () => ({ at: 0 }) }],
    ['a promise of null', { how: 'resolve', value: () => null }],
    ['a promise that rejects', { how: 'reject', value: () => new Error('not there') }],
    ['an error', { how: 'return', value: () => new Error('not there') }],
  ]
  test.each(references)('a reference that is %s gives the answer of graphql-js', async (_name, thing) => {
    deeds = [valid, { ...valid, thing }, valid]
    const [mine, theirs] = await both(asking('count'), things(3))
    expectSame(mine, theirs)
  })

  test('arguments, aliases, default values and resolvers below the first level give the answer of graphql-js', async () => {
    for (const text of [
      'sized',
      'sized(by: 3)',
      'aged',
      'aged(by: 4)',
      'other: count',
      'inner { deep }',
      'part { name } part { size }',
      'count ...P } } } fragment P on Thing { must }#',
    ]) {
      deeds = [valid]
      const [mine, theirs] = await both(asking(text), things(1))
      expect(mine).toEqual(theirs)
      expect(mine.errors).toBeUndefined()
    }
  })

  test('an error in one list leaves the other list unchanged', async () => {
    deeds = [valid, { ...valid, must: { how: 'resolve', value: () => null } }]
    const text = `query ($r: [_Any!]!) { x: _entities(representations: $r) { ... on Thing { count must } }
      y: _entities(representations: $r) { ... on Thing { loud } } }`
    const answer = (await ours(text, things(2))) as unknown as { data: unknown; errors: { message: string; path: unknown }[] }
    expect(answer.data).toEqual({ x: [{ count: 1, must: 2 }, null], y: [{ loud: 'HEY!' }, { loud: 'HEY!' }] })
    expect(answer.errors).toMatchObject([{ message: 'Cannot return null for non-nullable field Thing.must.', path: ['x', 1, 'must'] }])
  })

  test('the answer shares no object with the values of the resolvers', async () => {
    const kept = { name: 'p', of: { name: 'q' } }
    deeds = [{ part: { how: 'return', value: () => kept } }]
    const text = asking('part { name of { name } }')
    const { data } = await run(text, { r: things(1) })
    const [thing] = (data as Record<string, { part: typeof kept }[]>)['_entities'] ?? []
    expect(thing?.part).toEqual(kept)
    expect(thing?.part).not.toBe(kept)
    expect(thing?.part.of).not.toBe(kept.of)
  })

  test('a promise in a list that rejects early fails only its item', async () => {
    const grid = { how: 'return', value: () => [[1], Promise.reject(new Error('no row 2'))] } as const
    const late = { how: 'late', value: () => 1 } as const
    for (const how of ['return', 'resolve'] as const) {
      deeds = [{ grid: { ...grid, how }, count: late }]
      const text = asking('grid count')
      const [mine, theirs] = await both(text, things(1))
      expect(mine.data).toEqual({ _entities: [{ grid: [[1], null], count: 1 }] })
      expectSame(mine, theirs)
    }
    const own = things(1, { own: 5, numbers: [Promise.reject(new Error('no number'))] })
    deeds = [{ count: late }]
    const listed = await ours(asking('numbers count'), own)
    expect(listed.data).toEqual({ _entities: [{ numbers: [null], count: 1 }] })
    deeds = [{ must: { how: 'return', value: () => null }, grid }]
    const [mine, theirs] = await both(asking('must grid'), things(1))
    expect(mine).toEqual(theirs)
  })

  test('a property that throws fails only its field', async () => {
    class Odd {
      get own(): never {
        throw new Error('own is broken')
      }
    }
    deeds = [valid, { thing: { how: 'return', value: () => new Odd() } }, valid]
    const [mine, theirs] = await both(asking('own'), things(3, { own: 5 }))
    expect(mine.data).toEqual({ _entities: [{ own: 5 }, { own: null }, { own: 5 }] })
    expectSame(mine, theirs)
  })

  test('a value that is a promise only at its first read leaves other fields unchanged', async () => {
    let isRead = false
    const once = {
      // oxlint-disable-next-line unicorn/no-thenable -- the case of the test
      get then() {
        if (isRead) return undefined
        isRead = true
        return (take: (value: unknown) => void) => take('taken')
      },
    }
    deeds = [{ ...valid, text: { how: 'return', value: () => once } }, valid]
    const { data } = await ours(asking('text count loud'), things(2))
    expect(data._entities[1]).toEqual({ text: 'x', count: 1, loud: 'HEY!' })
    expect(data._entities[0]).toMatchObject({ count: 1, loud: 'HEY!' })
  })

  test('an entity whose `then` is a function only on every second read is awaited once', async () => {
    let reads = 0
    const strange = {
      count: 3,
      // oxlint-disable-next-line unicorn/no-thenable -- the case of the test
      get then() {
        return reads++ % 2 === 0 ? (done: (value: unknown) => void) => done(this) : undefined
      },
    }
    deeds = [{ thing: { how: 'return', value: () => strange } }]
    const answer = await localTransport(schema)
      .compile({ kind: 'query', name: undefined, text: asking('own'), document: parse(asking('own')) })
      .run({ r: things(1) }, CONTEXT)
    expect(answer).toMatchObject({ data: { _entities: [{ own: null }] } })
    expect(reads).toBeLessThan(5)
  })

  test('a query that runs when it is awaited runs once, in a list or as a reference', async () => {
    let runs = 0
    const query = (value: unknown) => ({
      // oxlint-disable-next-line unicorn/no-thenable -- the case of the test
      then(take: (value: unknown) => void) {
        runs += 1
        take(value)
      },
    })
    const list = (value: unknown): Deed => ({ how: 'return', value: () => [query(value), query(value)] })
    deeds = [
      { thing: { how: 'return', value: () => query({ at: 0 }) }, parts: list({ name: 'p' }) },
      { thing: { how: 'reject', value: () => new Error('not there') } },
    ]
    const text = asking('parts { name }')
    const mine = await ours(text, things(2))
    expect(mine.data).toEqual({ _entities: [{ parts: [{ name: 'p' }, { name: 'p' }] }, null] })
    expect(runs).toBe(3)
  })

  test('an error of another place gets the path of its field', async () => {
    deeds = [valid, { ...valid, text: { how: 'throw', value: () => new GraphQLError('inner', { path: ['inner', 7] }) } }]
    const { errors } = await ours(asking('text'), things(2))
    expect(errors).toMatchObject([{ message: 'inner', path: ['_entities', 1, 'text'] }])
  })

  test('a function within a value gets the context', async () => {
    deeds = [{ part: { how: 'return', value: () => ({ size: '1', name: (_: unknown, { who }: typeof CONTEXT) => who }) } }]
    const [mine, theirs] = await both(asking('part { size name }'), things(1))
    expect(mine.data).toEqual({ _entities: [{ part: { size: 1, name: 'me' } }] })
    expect(mine).toEqual(theirs)
  })

  test('conditions on fragments and a repeated list give the answer of graphql-js', async () => {
    const conditional = `query ($r: [_Any!]!, $c: Boolean!) { _entities(representations: $r) {
      ... on Thing @include(if: $c) { count } ... on Thing { id } } }`
    for (const [c, count] of [
      [true, 1],
      [false, 1],
      [true, '1'],
      [false, '1'],
    ] as const) {
      deeds = [{ ...valid, count: { how: 'return', value: () => count } }]
      const [mine, theirs] = await both(conditional, things(1), { c })
      expect(mine).toEqual(theirs)
      expect(mine.data._entities).toEqual([c ? { count: 1, id: 't0' } : { id: 't0' }])
    }
    const twice = `query ($r: [_Any!]!) { _entities(representations: $r) { ... on Thing { id } }
      _entities(representations: $r) { ... on Thing { text } } }`
    const [mine, theirs] = await both(twice, things(1))
    expect(mine).toEqual(theirs)
    expect(mine.data._entities).toEqual([{ id: 't0', text: 'x' }])
  })

  test('a resolver with three parameters, default values or a rest parameter gets all arguments that it takes', async () => {
    const [mine, theirs] = await both(asking('three defaulted rest'), things(2))
    expect(mine.data._entities).toEqual(
      things(2).map(({ id }) => ({ three: `${id} me 0`, defaulted: `${id} me 0 defaulted`, rest: '4 rest' })),
    )
    expect(mine).toEqual(theirs)
  })

  test('the answer is not a promise if no resolver returns one', () => {
    deeds = [{ count: { how: 'return', value: () => 1 } }]
    expect(run(asking('count'), { r: things(1) })).toEqual({
      data: { _entities: [{ count: 1 }] },
    })
  })

  test('resolvers are called once each, in the order of the fields, and get field, types, path and operation as by graphql-js', async () => {
    deeds = [valid, valid]
    const text = 'query Named ($r: [_Any!]!) { _entities(representations: $r) { ... on Thing { count must } } }'
    infos.splice(0)
    await ours(text, things(2))
    const own = infos.splice(0)
    await reference(text, things(2))
    const shown = ({ fieldName, parentType, returnType, operation, path }: GraphQLResolveInfo) => {
      const { key, typename, prev } = path
      return [fieldName, parentType, returnType, operation.name?.value, key, typename, prev, prev?.prev?.prev]
    }
    expect(own.map(shown)).toEqual(infos.map(shown))
    expect(own).toHaveLength(4)
  })
})
