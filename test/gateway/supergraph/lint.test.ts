/** Each rule of the linter: a finding, and the nearest case without one. */
import { describe, expect, test } from 'vitest'
import { lintSubgraphs } from '../../../gateway/supergraph/lint.ts'
import { LINK } from '../../support/partner.ts'

const rulesOf = (a: string, b: string) =>
  lintSubgraphs([
    { name: 'a', sdl: LINK + a },
    { name: 'b', sdl: LINK + b },
  ]).map(({ rule, subgraph, place }) => `${rule} ${subgraph} ${place}`)

describe('the linter', () => {
  test.each([
    [
      'a non-null field of an entity that two subgraphs share, but not its key, nor an entity of one',
      'type Video @key(fields: "id") { id: ID! length: Int } type Own @key(fields: "id") { id: ID! length: Int! }',
      'type Video @key(fields: "id") { id: ID! title: String! }',
      ['non-null-across-subgraphs b Video.title'],
    ],
    [
      'a non-null root field if two subgraphs have root fields',
      'type Query { "A." a: Int! }',
      'type Query { "B." b: Int }',
      ['non-null-root a Query.a'],
    ],
    [
      'an entity whose own fields cannot be reached',
      'type Video @key(fields: "id") { id: ID! }',
      'type Video @key(fields: "id", resolvable: false) { id: ID! title: String }',
      ['entity-without-key b Video'],
    ],
    [
      'nothing in a reference to an entity, which has only its key',
      'type Video @key(fields: "id") { id: ID! title: String }',
      'type Video @key(fields: "id", resolvable: false) { id: ID! }',
      [],
    ],
    [
      '@shareable on a field of one subgraph only, but not on PageInfo',
      'type Size { w: Int @shareable } type Box @shareable { w: Int } type PageInfo @shareable { next: Boolean }',
      'type Other { w: Int }',
      ['shareable-without-need a Box', 'shareable-without-need a Size.w'],
    ],
    [
      'no @shareable without need if two subgraphs have the field',
      'type Size @shareable { w: Int }',
      'type Size { w: Int @shareable }',
      [],
    ],
    [
      'a list of objects without a limit, but not one with a page size, one by ids, one of scalars, or a connection',
      'type Video { tags: [String!] more: [Video] page(first: Int): [Video] some(ids: [ID!]!): [Video] }',
      'type VideoConnection { edges: [Edge!]! } type Edge { cursor: String }',
      ['list-without-limit a Video.more'],
    ],
    [
      'a field with two types, and with two descriptions',
      'type Size @shareable { "Wide." w: Int! }',
      'type Size @shareable { "Broad." w: Int }',
      ['differing-descriptions b Size.w', 'differing-types b Size.w'],
    ],
    [
      'a type with two descriptions, but not if one has none',
      '"One." type Size @shareable { w: Int } "One." type Box @shareable { w: Int }',
      '"Two." type Size @shareable { w: Int } type Box @shareable { w: Int }',
      ['differing-descriptions b Size'],
    ],
    [
      'a root field without a description, in extensions too',
      'type Query { a: Int }',
      'extend type Mutation { b: Int }',
      ['root-without-description b Mutation.b', 'root-without-description a Query.a'],
    ],
    [
      'an overridden field',
      'type Video @key(fields: "id") { id: ID! title: String }',
      'type Video @key(fields: "id") { id: ID! title: String @federation__override(from: "a") }',
      ['override b Video.title'],
    ],
  ])('the linter finds %s', (_, a, b, expected) => {
    expect(rulesOf(a, b)).toEqual(expected)
  })

  test('a warning has the advice of its rule', () => {
    const [warning] = lintSubgraphs([{ name: 'a', sdl: 'type Query { videos: Int }' }])
    expect(warning?.sentence).toBe('Query.videos has no description: describe its purpose, its limits and its errors')
  })
})
