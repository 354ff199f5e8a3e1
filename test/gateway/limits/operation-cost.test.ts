import { buildSchema, parse } from 'graphql'
import type { OperationDefinitionNode } from 'graphql'
import { describe, expect, it } from 'vitest'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { readCostRules } from '../../../gateway/limits/cost-rules.ts'
import { makePlanner } from '../../../gateway/operation/planner.ts'
import { fragmentsOf } from '../../../gateway/operation/plan-document.ts'
import { compileCost } from '../../../gateway/limits/operation-cost.ts'

const HEAD = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@cost", "@listSize"])\n`

function coster(sdl: string, listSizeAssumed = 5) {
  const supergraph = composeSupergraph([{ name: 'a', sdl: HEAD + sdl }])
  const { schema } = makePlanner(supergraph)
  const rules = readCostRules(supergraph, listSizeAssumed)
  return (query: string, variables?: Record<string, unknown>) => {
    const document = parse(query)
    const operation = document.definitions.find((each) => each.kind === 'OperationDefinition') as OperationDefinitionNode
    return compileCost(schema, operation, fragmentsOf(document), rules)(variables)
  }
}

const SHOP = `
  type Query {
    one: Item
    name: String
    items: [Item!]!
    names: [String]
    page(first: Int = 20, last: Int): Page
    byIds(ids: [ID!]!): [Item]
    search(most: Int, text: String): [Item] @listSize(slicingArguments: ["most"], requireOneSlicingArgument: false)
    assumed: [Item] @listSize(assumedSize: 50)
    cursor(size: Int): Page @listSize(slicingArguments: ["size"], sizedFields: ["edges"], requireOneSlicingArgument: false)
    dear(query: String @cost(weight: 100)): Item @cost(weight: 30)
    thing: Dear
    filtered(filter: Filter): Int
    any: Any
    left(candidates: [ID!]!, exclude: [ID!]): Left
    flags(ids: [ID!]!): [Boolean]
  }
  type Mutation { write(inputs: [Int!]!): [Outcome!]! touch: Int drop(ids: [ID!]!): Int }
  type Left { ids: [ID!]! }
  type Outcome { code: Int item: Item }
  type Item { id: ID items(first: Int): [Item] related: [Item] }
  type Page { edges: [Edge] total: Int }
  type Edge { node: Item cursor: String }
  type Dear @cost(weight: 7) { id: ID }
  input Filter { regex: String @cost(weight: 40) nested: Filter }
  union Any = Item | Dear`

const cost = coster(SHOP)

describe('an operation costs', () => {
  it('a point for each id that a subscription follows, for any selection of the events', () => {
    const ofFeed = coster(`type Query { a: Int } type Counts { id: ID } type Change { business: String counts: [Counts!]! }
      type Subscription { changed(ids: [ID!]!): Change! @listSize(sizedFields: ["counts"]) }`)
    const ids = Array.from({ length: 200 }, (_, at) => String(at))
    const follow = (set: string) => ofFeed(`subscription($ids: [ID!]!) { changed(ids: $ids) { ${set} } }`, { ids })
    expect([follow('business'), follow('__typename'), follow('counts { id }')]).toEqual([200, 200, 201])
    expect(ofFeed(`subscription { ...F } fragment F on Subscription { changed(ids: ${JSON.stringify(ids)}) { business } }`)).toBe(200)
  })

  it('1 for an object, 0 for a leaf, and at least 1 in total', () => {
    expect(cost('{ name }')).toBe(1)
    expect(cost('{ name names }')).toBe(1)
    expect(cost('{ one { id } }')).toBe(1)
    expect(cost('{ a: one { id } b: one { id } }')).toBe(2)
    expect(cost('{ __schema { queryType { name } } one { __typename } }')).toBe(2)
  })

  it('for a list as many times as its arguments say, by literals, defaults and variables', () => {
    const query = 'query Q($first: Int, $n: Int = 3) { page(first: $first) { edges { node { items(first: $n) { id } } } } }'
    // The page, and for each edge: the edge, its node and n items.
    expect(cost('{ page { total } }')).toBe(1)
    expect(cost('{ page { edges { cursor } } }')).toBe(1 + 20)
    expect(cost('{ page(first: 7) { edges { node { id } } } }')).toBe(1 + 7 * 2)
    expect(cost('{ page(first: null, last: 4) { edges { cursor } } }')).toBe(1 + 4)
    expect(cost(query)).toBe(1 + 20 * (2 + 3))
    expect(cost(query, { first: 100 })).toBe(1 + 100 * (2 + 3))
    expect(cost(query, { first: 100, n: 100 })).toBe(1 + 100 * (2 + 100))
    for (const first of [0, -1, -5]) expect(cost(query, { first })).toBe(1 + 5 * (2 + 3))
    expect(cost(query, { first: '100' })).toBeGreaterThanOrEqual(1)
  })

  it.each(['n', 'constructor', 'toString', 'hasOwnProperty', '__proto__'])(
    'no less for a variable that is called %s and not given',
    (name) => {
      expect(cost(`query ($${name}: Int) { page(first: $${name}) { edges { cursor } } }`, {})).toBe(1 + 20)
      expect(cost(`query ($${name}: ID!) { byIds(ids: ["a", "b", $${name}]) { id } }`, {})).toBe(3)
      expect(cost(`query ($${name}: String) { filtered(filter: { regex: $${name} }) }`, {})).toBe(1)
      expect(cost(`query ($${name}: String) { dear(query: $${name}) { id } }`, {})).toBe(30)
    },
  )

  it('the maximum if lists of lists exceed the largest number, with any selection around them', () => {
    const nested = 'items(first: $n) { '.repeat(40) + 'id' + ' }'.repeat(40)
    const query = `query ($z: Int, $n: Int) { page(first: $z) { edges { node { ${nested} } } } }`
    for (const z of [0, 1]) expect(cost(query, { z, n: 1e9 })).toBe(Number.MAX_SAFE_INTEGER)
  })

  it('one object per id', () => {
    expect(cost('{ byIds(ids: ["a", "b", "c"]) { id } }')).toBe(3)
    expect(cost('query Q($ids: [ID!]!) { byIds(ids: $ids) { id } }', { ids: Array.from({ length: 200 }, String) })).toBe(200)
    expect(cost('query Q($id: ID!) { byIds(ids: ["a", $id]) { id } }', { id: 'b' })).toBe(2)
    expect(cost('query Q($ids: [ID!]!) { byIds(ids: $ids) { id } }', { ids: 'one' })).toBe(1)
  })

  it('one item for a single value of a list, even if the value is a number', () => {
    expect(cost('query Q($ids: [ID!]!) { byIds(ids: $ids) { id } }', { ids: 1e9 })).toBe(1)
    expect(cost('{ byIds(ids: 1000000) { id } }')).toBe(1)
  })

  it('1 for each ten items of an input list if the answer is no list of objects', () => {
    const candidates = Array.from({ length: 10_000 }, String)
    const query = 'query Q($c: [ID!]!) { left(candidates: $c) { ids } }'
    expect(cost(query, { c: candidates })).toBe(1 + 1_000)
    expect(cost('query Q($c: [ID!]!) { left(candidates: $c, exclude: $c) { ids } }', { c: candidates })).toBe(1 + 2_000)
    expect(cost('query Q($c: [ID!]!) { a: left(candidates: $c) { ids } b: left(candidates: $c) { ids } }', { c: candidates })).toBe(2_002)
    expect(cost(query, { c: ['1', '2'] })).toBe(1)
    expect(cost(query, { c: 7 })).toBe(1)
    expect(cost('query Q($c: [ID!]!) { flags(ids: $c) }', { c: candidates })).toBe(1_000)
    expect(cost('mutation Q($c: [ID!]!) { drop(ids: $c) }', { c: candidates.slice(0, 200) })).toBe(10 + 20)
  })

  it('the assumed size for lists without a size, multiplied through lists of lists', () => {
    expect(cost('{ items { id } }')).toBe(5)
    expect(cost('{ items { related { related { id } } } }')).toBe(5 * (1 + 5 * (1 + 5)))
    expect(coster(SHOP, 1)('{ items { related { related { id } } } }')).toBe(3)
  })

  it('the fields of a fragment each time that it is spread, under any condition', () => {
    expect(
      cost('query Q($in: Boolean!) { one { ...F @include(if: $in) ...F } } fragment F on Item { items(first: 2) { id } }', { in: false }),
    ).toBe(5)
    expect(cost('{ any { ... on Item { related { id } } ... on Dear { id } } }')).toBe(7 + 5)
    expect(cost('{ page(first: 3) { ...E } cursor(size: 9) { ...E } } fragment E on Page { edges { cursor } }')).toBe(2 + 3 + 9)
  })

  it('10 more for a mutation, and its answers by the length of its batch', () => {
    expect(cost('mutation { touch }')).toBe(10)
    expect(cost('mutation Q($inputs: [Int!]!) { write(inputs: $inputs) { code } }', { inputs: Array(500).fill(1) })).toBe(510)
    expect(cost('mutation { a: write(inputs: [1]) { item { id } } b: touch }')).toBe(10 + 2 + 10)
  })

  it('always a number: invalid variables cost more than any limit', () => {
    const query = 'query Q($n: Int) { page(first: $n) { edges { node { items(first: $n) { items(first: $n) { id } } } } } }'
    for (const n of [1e9, 1e308, Number.MAX_VALUE, Infinity]) expect(cost(query, { n })).toBeGreaterThan(1e15)
    for (const n of [{}, [], 'x', true, Number.NaN]) expect(Number.isFinite(cost(query, { n }))).toBe(true)
  })
})

describe('the cost specification', () => {
  it('weighs fields, types, arguments and input fields', () => {
    expect(cost('{ dear { id } }')).toBe(30)
    expect(cost('{ dear(query: "x") { id } }')).toBe(130)
    expect(cost('{ thing { id } }')).toBe(7)
    expect(cost('{ filtered }')).toBe(1)
    expect(cost('{ filtered(filter: { regex: "x", nested: { regex: "y" } }) }')).toBe(40)
    expect(cost('query Q($f: Filter) { filtered(filter: $f) }', { f: { regex: 'x' } })).toBe(40)
  })

  it('gives sizes of lists: assumed, by any argument, or of fields below', () => {
    expect(cost('{ assumed { id } }')).toBe(50)
    expect(cost('{ search(most: 30) { id } }')).toBe(30)
    expect(cost('query Q($most: Int) { search(most: $most) { id } }', { most: 40 })).toBe(40)
    expect(cost('{ search { id } }')).toBe(5)
    expect(cost('{ cursor(size: 12) { edges { cursor } } }')).toBe(13)
  })

  it('is kept by the composer under any name of its directives', () => {
    const supergraph = `schema @link(url: "https://specs.apollo.dev/cost/v0.1", as: "price", import: [{ name: "@listSize", as: "@long" }]) { query: Query }
      type Query { a: [Int] @price(weight: 3) @long(assumedSize: 9) }`
    const rules = readCostRules(supergraph, 5)
    expect(rules.weights.get('Query.a')).toBe(3)
    expect(rules.listSizes.get('Query.a')).toEqual({ assumedSize: 9 })
  })
})

it('computing a cost takes microseconds per request', () => {
  const schema = buildSchema(SHOP.replaceAll(/@(cost|listSize)\([^)]*\)/g, ''))
  const document = parse(
    'query Q($first: Int, $ids: [ID!]!) { page(first: $first) { edges { node { items(first: 3) { id } } } } byIds(ids: $ids) { id } one { id } }',
  )
  const [operation] = document.definitions
  const compiled = compileCost(schema, operation as OperationDefinitionNode, new Map(), {
    listSizeAssumed: 5,
    weights: new Map(),
    listSizes: new Map(),
  })
  const variables = { first: 50, ids: ['a', 'b'] }
  const startedAt = performance.now()
  for (let round = 0; round < 100_000; round += 1) compiled(variables)
  const micros = (performance.now() - startedAt) / 100
  console.log(`cost of an operation with two variables: ${micros.toFixed(2)} µs`)
  expect(micros).toBeLessThan(20)
})
