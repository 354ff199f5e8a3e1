import { buildSubgraphSchema } from '@apollo/subgraph'
import * as fc from 'fast-check'
import { GraphQLScalarType, execute, parse } from 'graphql'
import type { GraphQLResolveInfo } from 'graphql'
import { describe, expect, test } from 'vitest'
import { localTransport } from '../../../gateway/transports/local-transport.ts'

const SDL = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key"])
  scalar Loud
  enum Level { LOW HIGH }
  type Query { a: Int }
  type Thing @key(fields: "id") {
    id: ID! count: Int must: Int! ratio: Float text: String flag: Boolean level: Level loud: Loud key: ID
    part: Part parts: [Part!] grid: [[Int!]] own: Int sized(by: Int = 2): Int aged(by: Int): Int
  }
  type Part { size: Int name: String! of: Part }`

const loud = new GraphQLScalarType({
  name: 'Loud',
  serialize(value) {
    if (typeof value === 'number') throw new TypeError('a number is not loud')
    return value === 'nothing' ? undefined : `${String(value).toUpperCase()}!`
  },
})

/** What a resolver does: the seeds of a property test. */
type Deed = { how: 'return' | 'resolve' | 'throw' | 'reject' | 'late'; value: () => unknown }
type Deeds = Record<string, Deed>

function perform({ how, value }: Deed): unknown {
  if (how === 'return') return value()
  if (how === 'resolve') return Promise.resolve(value())
  if (how === 'late') return new Promise((resolve) => setImmediate(() => resolve(value())))
  // oxlint-disable-next-line typescript/only-throw-error -- resolvers of others may
  if (how === 'throw') throw value()
  return Promise.reject(value())
}

/** A rejection that nobody needs to handle: graphql-js takes no promise within a value that is of the wrong type or not needed. */
function rejected(): Promise<never> {
  const promise = Promise.reject(new Error('late'))
  promise.catch(() => {})
  return promise
}

const FIELDS = ['count', 'must', 'ratio', 'text', 'flag', 'level', 'loud', 'key', 'part', 'parts', 'grid'] as const
const DOCUMENT = `query ($r: [_Any!]!) { _entities(representations: $r) { ... on Thing { __typename id own
  count must ratio text flag level loud key part { size name of { name } } parts { size name __typename } grid } } }`

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
      Thing: {
        __resolveReference: (reference: { at: number }) =>
          perform(deeds[reference.at]?.['thing'] ?? { how: 'return', value: () => reference }),
        ...Object.fromEntries(FIELDS.map((name) => [name, resolverOf(name)])),
        sized: (_: unknown, { by }: { by: number }) => by * 10,
        aged: (_: unknown, { by = 7 }: { by?: number }) => by,
      },
    } as never,
  },
])

type Answer = { data: { _entities: unknown[] }; errors?: { message: string; path: (string | number)[] }[] }
const plain = (result: unknown) => JSON.parse(JSON.stringify(result)) as Answer
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

/** graphql-js may leave out errors of an entity that is null for one error; which ones depends on the order of promises. */
function errorsOf({ data, errors = [] }: Answer): string[] {
  const isLost = (path: Answer['errors'] & {} extends (infer E)[] ? (E & { path: (string | number)[] })['path'] : never) =>
    typeof path[1] === 'number' && data._entities[path[1]] === null
  const lost = errors.flatMap(({ path }) => (isLost(path) ? [path.slice(0, 2).join('.')] : []))
  const others = errors.flatMap(({ message, path }) =>
    // Each executor describes a thrown value that is no error in its own way.
    isLost(path) ? [] : [`${path.join('.')}: ${message.replace(/^(Unexpected error value).*$/su, '$1')}`],
  )
  return [...new Set(lost), ...others].sort()
}

const leaf = fc.constantFrom<unknown>(
  null,
  undefined,
  0,
  -0,
  3,
  2.5,
  NaN,
  Infinity,
  2 ** 40,
  '',
  '7',
  'text',
  'nothing',
  true,
  false,
  1,
  'high',
  'LOW',
  {},
  10n,
)
const part = (inner: fc.Arbitrary<unknown>) => fc.record({ size: leaf, name: leaf, of: inner }, { requiredKeys: [] })
const value: fc.Arbitrary<() => unknown> = fc.oneof(
  { weight: 4, arbitrary: leaf.map((each) => () => each) },
  { weight: 2, arbitrary: part(part(leaf)).map((each) => () => each) },
  {
    weight: 2,
    arbitrary: fc.array(fc.oneof(leaf, part(leaf), fc.array(leaf, { maxLength: 3 })), { maxLength: 3 }).map((each) => () => each),
  },
  fc.constantFrom<() => unknown>(
    () => new Error('an error as a value'),
    () => new Set([1, 2]),
    () => [[1, 2], [3]],
    () => ({ size: 1, name: () => 'called' }),
    () => ({ size: Promise.resolve(4), name: rejected() }),
    () => [Promise.resolve({ name: 'n' }), { name: 'm', size: 'x' }],
    () => [{ name: 'm' }, rejected()],
    () => [[Promise.resolve(1), rejected()], null],
    () => Object.create({ size: 5, name: 'inherited' }) as unknown,
    () => new String('boxed'),
    () => () => 1,
  ),
)
const deed = fc.record({ how: fc.constantFrom('return', 'return', 'resolve', 'late', 'throw', 'reject'), value })
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

describe('entities whose fields are called without graphql-jit', () => {
  test('valid values', async () => {
    deeds = [valid, { ...valid, key: { how: 'return', value: () => 'five' }, part: { how: 'return', value: () => null } }]
    const [mine, theirs] = await both(DOCUMENT, things(2, { own: 9 }))
    expect(mine).toEqual(theirs)
    expect(mine.data._entities).toHaveLength(2)
    expect(mine.data._entities[1]).toEqual({
      ...{ __typename: 'Thing', id: 't1', own: 9, count: 1, must: 2, ratio: 0.5, text: 'x', flag: true, level: 'HIGH', loud: 'HEY!' },
      ...{ key: 'five', part: null, parts: [{ __typename: 'Part', name: 'p', size: 1 }], grid: [[1], null, []] },
    })
  })

  test('any values, errors and promises: the answer of graphql-js', async () => {
    const all: fc.Arbitrary<Deeds> = fc.record(Object.fromEntries(FIELDS.map((name) => [name, deed])))
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
        expect(mine.data).toEqual(theirs.data)
        expect(errorsOf(mine)).toEqual(errorsOf(theirs))
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
  test.each(references)('a reference that is %s', async (_name, thing) => {
    deeds = [valid, { ...valid, thing }, valid]
    const [mine, theirs] = await both('query ($r: [_Any!]!) { _entities(representations: $r) { ... on Thing { count } } }', things(3))
    expect(mine.data).toEqual(theirs.data)
    expect(errorsOf(mine)).toEqual(errorsOf(theirs))
  })

  test('arguments, aliases and default values, which graphql-jit runs', async () => {
    for (const text of ['sized', 'sized(by: 3)', 'aged', 'aged(by: 4)', 'other: count', 'count ...P } } } fragment P on Thing { must }#']) {
      deeds = [valid]
      const [mine, theirs] = await both(`query ($r: [_Any!]!) { _entities(representations: $r) { ... on Thing { ${text} } } }`, things(1))
      expect(mine).toEqual(theirs)
      expect(mine.errors).toBeUndefined()
    }
  })

  test('several lists in one document', async () => {
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
    const text = 'query ($r: [_Any!]!) { _entities(representations: $r) { ... on Thing { part { name of { name } } } } }'
    const { data } = await run(text, { r: things(1) })
    const [thing] = (data as Record<string, { part: typeof kept }[]>)['_entities'] ?? []
    expect(thing?.part).toEqual(kept)
    expect(thing?.part).not.toBe(kept)
    expect(thing?.part.of).not.toBe(kept.of)
  })

  test('a list with promises that reject before the other fields are known', async () => {
    const grid = { how: 'return', value: () => [[1], Promise.reject(new Error('no row 2'))] } as const
    const late = { how: 'late', value: () => 1 } as const
    for (const how of ['return', 'resolve'] as const) {
      deeds = [{ grid: { ...grid, how }, count: late }]
      const text = 'query ($r: [_Any!]!) { _entities(representations: $r) { ... on Thing { grid count } } }'
      const [mine, theirs] = await both(text, things(1))
      expect(mine.data).toEqual({ _entities: [{ grid: [[1], null], count: 1 }] })
      expect([mine.data, errorsOf(mine)]).toEqual([theirs.data, errorsOf(theirs)])
    }
    deeds = [{ must: { how: 'return', value: () => null }, grid }]
    const [mine, theirs] = await both('query ($r: [_Any!]!) { _entities(representations: $r) { ... on Thing { must grid } } }', things(1))
    expect(mine).toEqual(theirs)
  })

  test('an entity with a property that throws', async () => {
    class Odd {
      get own(): never {
        throw new Error('own is broken')
      }
    }
    deeds = [valid, { thing: { how: 'return', value: () => new Odd() } }, valid]
    const [mine, theirs] = await both(
      'query ($r: [_Any!]!) { _entities(representations: $r) { ... on Thing { own } } }',
      things(3, { own: 5 }),
    )
    expect(mine.data).toEqual({ _entities: [{ own: 5 }, { own: null }, { own: 5 }] })
    expect([mine.data, errorsOf(mine)]).toEqual([theirs.data, errorsOf(theirs)])
  })

  test('a value that is a promise when it is read first alone', async () => {
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
    const { data } = await ours('query ($r: [_Any!]!) { _entities(representations: $r) { ... on Thing { text count loud } } }', things(2))
    expect(data._entities[1]).toEqual({ text: 'x', count: 1, loud: 'HEY!' })
    expect(data._entities[0]).toMatchObject({ count: 1, loud: 'HEY!' })
  })

  test('functions within values get the context, also if a conversion is needed elsewhere', async () => {
    deeds = [{ part: { how: 'return', value: () => ({ size: '1', name: (_: unknown, { who }: typeof CONTEXT) => who }) } }]
    const [mine, theirs] = await both(
      'query ($r: [_Any!]!) { _entities(representations: $r) { ... on Thing { part { size name } } } }',
      things(1),
    )
    expect(mine.data).toEqual({ _entities: [{ part: { size: 1, name: 'me' } }] })
    expect(mine).toEqual(theirs)
  })

  test('conditions on fragments, and a list that is asked for twice', async () => {
    deeds = [{ ...valid, count: { how: 'return', value: () => '1' } }]
    const conditional = `query ($r: [_Any!]!, $c: Boolean!) { _entities(representations: $r) {
      ... on Thing @include(if: $c) { count } ... on Thing { id } } }`
    for (const c of [true, false]) {
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

  test('without a promise, the answer is none', () => {
    deeds = [{ count: { how: 'return', value: () => 1 } }]
    expect(run('query ($r: [_Any!]!) { _entities(representations: $r) { ... on Thing { count } } }', { r: things(1) })).toEqual({
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
