import { describe, expect, test } from 'vitest'
import { NO_KEY, compileRequires } from '../../../gateway/execution/representations.ts'

const field = (name: string, ...selections: object[]) => ({ kind: 'Field', name, ...(selections.length === 0 ? {} : { selections }) })

/** The keys of entities of type T with these fields. */
function keysOf(fields: object[], entities: object[]): unknown[] {
  const selections = [field('__typename'), ...fields]
  const requires = compileRequires([{ kind: 'InlineFragment', typeCondition: 'T', selections }] as never, () => new Set(['T']))
  return entities.map((entity) => requires({ __typename: 'T', ...entity })?.keyOf({ __typename: 'T', ...entity }))
}

describe('keys of representations', () => {
  test('keys differ exactly if the representations differ', () => {
    const values = ['a', '', '1', 1, 0, null, true, 'true', 'null', 'a;', '1:a', ';', 'a1:b', 'b']
    const entities = values.flatMap((x) => values.map((y) => ({ x, y })))
    expect(new Set(keysOf([field('x'), field('y')], entities)).size).toBe(entities.length)
    expect(keysOf([field('x'), field('y')], [{ x: 'a', y: 1 }])).toEqual(keysOf([field('y'), field('x')], [{ x: 1, y: 'a' }]))
    expect(
      new Set(
        keysOf(
          [field('x')],
          values.map((x) => ({ x })),
        ),
      ).size,
    ).toBe(values.length)
  })

  test('an entity with a missing field has no key, and one with a null has a key', () => {
    expect(keysOf([field('x'), field('y')], [{ x: 1 }, { y: 1 }, {}])).toEqual([undefined, undefined, undefined])
    expect(keysOf([field('x')], [{}, { x: null }])).toEqual([undefined, null])
  })

  test('an object value or a nested field is compared by the representation', () => {
    expect(keysOf([field('x')], [{ x: { a: 1 } }, { x: [1] }])).toEqual([NO_KEY, NO_KEY])
    expect(keysOf([field('x', field('a'))], [{ x: { a: 1 } }])).toEqual([NO_KEY])
  })

  test('inherited properties are not keys', () => {
    expect(keysOf([field('constructor')], [{}])).toEqual([undefined])
  })
})

test('invented type names of a subgraph are not kept, and cost no work', () => {
  const asked: string[] = []
  const possible = (name: string) => {
    asked.push(name)
    return new Set([name])
  }
  const on = (typeCondition: string, ...selections: object[]) => ({ kind: 'InlineFragment', typeCondition, selections })
  const nested = { ...on('B', field('x', field('y'))), skipIf: 'never' }
  const requires = compileRequires([on('A', field('__typename'), field('id')), nested] as never, possible)
  const of = (__typename: string) => requires({ __typename, id: '1', x: { y: 1 } })
  for (const name of ['A', 'B']) {
    expect(of(name)).toBeDefined()
    asked.length = 0
    expect(of(name)).toBe(of(name))
    expect(asked).toEqual([])
  }
  for (let invented = 0; invented < 3; invented += 1) {
    asked.length = 0
    expect(of('Invented')).toBeUndefined()
    expect(asked).toEqual([])
  }
})
