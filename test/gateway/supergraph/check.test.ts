/** The effect of a change on known operations: the broken ones, and the cost of the others. */
import { buildSchema, parse } from 'graphql'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { findChanges } from '../../../gateway/supergraph/schema-changes.ts'
import { checkSupergraph } from '../../../gateway/supergraph/check.ts'
import { readKnownOperations } from '../../../gateway/supergraph/known-operations.ts'
import { usedCoordinates } from '../../../gateway/supergraph/usage.ts'
import { LINK, VIDEOS } from '../../support/partner.ts'

const OLD_SDL = `
  type Query { video(id: ID!, quality: Quality = LOW, filter: Filter): Video  users: [User]  search: Found }
  type Video implements Node { id: ID!  title: String  state: State }
  type User { id: ID!  name: String }
  type Gone { a: Int }
  union Found = Video | User
  interface Node { id: ID! }
  enum Quality { LOW HIGH }  enum State { NEW OLD }
  input Filter { tag: String  year: Int }
  directive @live on FIELD
`
const OPERATIONS: Record<string, string> = {
  Title: 'query Title { video(id: 1) { title } }',
  Names: 'query Names { users { name } }',
  Filtered: 'query Filtered($f: Filter) { video(id: 1, filter: $f) { id } }',
  High: 'query High { video(id: 1, quality: HIGH) { state } }',
  Found: 'query Found { search { ... on User { name } } }',
  Tagged: 'query Tagged { video(id: 1, filter: {tag: "x"}) { id } }',
}

const OLD = buildSchema(OLD_SDL)

/** The changes of an edit, each with the operations that use it. */
function changesOf(...[from, to]: [from: string | RegExp, to: string]): string[] {
  const sdl = OLD_SDL.replace(from, to)
  if (sdl === OLD_SDL) throw new Error(`${from} is not in the schema`)
  const usages = Object.entries(OPERATIONS).map(([name, text]) => ({ name, used: usedCoordinates(OLD, parse(text)) }))
  return findChanges(OLD, buildSchema(sdl), usages).map(({ severity, place, usedBy }) => `${severity} ${place}: ${usedBy.join(', ')}`)
}

describe('changes', () => {
  test.each<[string | RegExp, string, string[]]>([
    ['title: String', '', ['breaking Video.title: Title']],
    ['name: String', 'name: Int', ['breaking User.name: Names, Found']],
    ['type Gone { a: Int }', '', ['breaking Gone: ']],
    ['filter: Filter', '', ['breaking Query.video(filter): Filtered, Tagged']],
    ['year: Int', '', ['breaking Filter.year: Filtered']],
    ['year: Int', 'year: Int must: Int!', ['breaking Filter: Filtered, Tagged']],
    ['LOW HIGH', 'LOW', ['breaking Quality.HIGH: High']],
    ['NEW OLD', 'NEW OLD LOST', ['dangerous State: High']],
    ['Video | User', 'Video', ['breaking Found: Found']],
    [/quality: Quality = LOW/, 'quality: Quality = HIGH', ['dangerous Query.video: Title, Filtered, High, Tagged']],
    [/id: ID!, /, 'id: ID!, must: Int!, ', ['breaking Query.video: Title, Filtered, High, Tagged']],
    ['directive @live on FIELD', '', ['breaking @live: ']],
    ['Video implements Node', 'Video', ['breaking Video: Title, Filtered, High, Tagged']],
    ['name: String', 'name: String!', []],
    ['name: String', 'name: String age: Float', ['added User.age: ']],
    ['type Gone', 'type New { a: Float } type Gone', ['added New: ']],
    ['name: String', 'title: String age: Int', ['breaking User.name: Names, Found', 'added User.age: ', 'added User.title: ']],
  ])('%s → %s', (from, to, expected) => {
    expect(changesOf(from, to)).toEqual(expected)
  })

  test.each([
    ['title: String', 'Video.title'],
    ['filter: Filter', 'Query.video arg filter'],
    ['year: Int', 'Filter.year'],
    ['HIGH', 'HIGH'],
  ])('the removal of %s tells whether it was deprecated', (part, place) => {
    const deprecated = OLD_SDL.replace(part, `${part} @deprecated(reason: "Use the other.")`)
    const changeOf = (before: string) => findChanges(buildSchema(before), buildSchema(OLD_SDL.replace(part, '')), [])[0]
    expect(changeOf(OLD_SDL)?.sentence).toContain(`${place} was removed`)
    expect(changeOf(OLD_SDL)?.advice).toBe('It was not deprecated: keep it, and name its successor in @deprecated.')
    expect(changeOf(deprecated)?.advice).toBe('It was deprecated: Use the other.')
  })
})

describe('operations', () => {
  const HISTORY = `${LINK}
type Query { "Watched." watched: [Video!]! }
type Video @key(fields: "id") { id: ID! position: Int }`
  const subgraphs = [
    { name: 'history', sdl: HISTORY },
    { name: 'videos', sdl: VIDEOS, url: 'http://videos/' },
  ]
  const check = (texts: Record<string, string>, before?: string) =>
    checkSupergraph({
      loaded: { sdl: composeSupergraph(subgraphs), hash: 'h', placements: [], gaps: [] },
      subgraphs,
      before: before === undefined ? undefined : buildSchema(before),
      operations: Object.entries(texts).map(([name, text]) => ({ name, text, file: 'f' })),
      tokensMax: 1_000,
      judge: () => [],
      costMax: 20,
      listSizeAssumed: 5,
    })

  test('each operation has its fields, levels, points, fetches and waves', () => {
    const { ok, operations } = check({
      Both: '{ watched { id ...T position } } fragment T on Video { title }',
      One: '{ watched { position } }',
      Side: '{ watched { id } video(id: 1) { title } }',
      Twice: 'query ($a: Boolean!) { watched { title @include(if: $a) } }',
    })
    expect(ok).toBe(true)
    expect(operations.map(({ name, cost }) => [name, cost])).toEqual([
      ['Both', { fields: 4, depth: 2, points: 5, fetches: 2, waves: 2, subgraphs: ['history', 'videos'] }],
      ['One', { fields: 2, depth: 2, points: 5, fetches: 1, waves: 1, subgraphs: ['history'] }],
      ['Side', { fields: 4, depth: 2, points: 6, fetches: 2, waves: 1, subgraphs: ['history', 'videos'] }],
      ['Twice', { fields: 2, depth: 2, points: 5, fetches: 2, waves: 2, subgraphs: ['history', 'videos'] }],
    ])
  })

  test('an operation above the maximum cost breaks the check, and one at the maximum does not', () => {
    const times = (count: number) => `{ ${Array.from({ length: count }, (_, index) => `w${index}: watched { id }`).join(' ')} }`
    const { ok, operations } = check({ Four: times(4), Five: times(5) })
    expect(ok).toBe(false)
    expect(operations).toMatchObject([
      { problems: [], cost: { points: 20 } },
      { problems: [expect.stringContaining('costs 25 points without variables, more than 20')], cost: null },
    ])
  })

  test('an operation that does not fit or does not parse breaks the check, with the reason', () => {
    const { ok, operations } = check({ Bad: '{ watched { name } }', Worse: '{', Good: '{ watched { id } }' })
    expect(ok).toBe(false)
    expect(operations.map(({ problems }) => problems)).toEqual([
      ['Cannot query field "name" on type "Video".'],
      ['Syntax Error: Expected Name, found <EOF>.'],
      [],
    ])
  })

  const WITH_MORE = 'type Query { watched: [Video!]! video(id: ID!): Video } type Video { id: ID! title: String position: Int likes: Int }'
  test('a breaking change counts if a known operation uses it, or if no operations are given', () => {
    expect(check({ Good: '{ watched { id } }' }, WITH_MORE)).toMatchObject({ ok: true, changes: [{ place: 'Video.likes', usedBy: [] }] })
    expect(check({ Likes: '{ watched { likes } }' }, WITH_MORE)).toMatchObject({ ok: false, changes: [{ usedBy: ['Likes'] }] })
    const loaded = { sdl: composeSupergraph(subgraphs), hash: 'h', placements: [], gaps: [] }
    const unknown = {
      loaded,
      subgraphs,
      before: buildSchema(WITH_MORE),
      operations: undefined,
      tokensMax: 1_000,
      judge: () => [],
      costMax: 20,
      listSizeAssumed: 5,
    }
    expect(checkSupergraph(unknown).ok).toBe(false)
  })
})

describe('known operations', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-operations-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const write = (name: string, text: string): string => {
    const path = join(folder, name)
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, text)
    return path
  }

  test('operations come from a folder of .graphql files and manifests, with fragments across files', () => {
    write('all/a.graphql', 'query A { watched { ...V } } query B { watched { id } }')
    write('all/deep/v.graphql', 'fragment V on Video { ...W } fragment W on Video { id } fragment X on Video { id }')
    write(
      'all/apollo.json',
      JSON.stringify({ format: 'apollo-persisted-query-manifest', operations: [{ id: '1', name: 'C', body: '{ c }' }] }),
    )
    write('all/relay.json', JSON.stringify({ abc: 'query D { d }', '0123456789abcdef': '{ e }' }))
    const known = readKnownOperations(join(folder, 'all'))
    expect(known.map(({ name }) => name)).toEqual(['0123456789ab', 'A', 'B', 'C', 'D'])
    const a = known[1]?.text ?? ''
    expect([/fragment V/.test(a), /fragment W/.test(a), /fragment X/.test(a), /query B/.test(a)]).toEqual([true, true, false, false])
  })

  test.each([
    ['a missing path', () => join(folder, 'absent'), /does not exist: correct --operations/],
    ['a folder without operations', () => join(write('empty/readme.txt', ''), '..'), /has no operations/],
    ['invalid JSON', () => write('x.json', '{'), /x\.json is not JSON/],
    ['JSON of another kind', () => write('y.json', '[1]'), /y\.json is not a manifest/],
    ['an operation without a body', () => write('z.json', '{"operations":[{"id":"1"}]}'), /operations\[0\] has no body/],
    ['a map of other things', () => write('w.json', '{"a": 1}'), /"a" is not the text of an operation/],
    ['a file that is not GraphQL', () => write('q.graphql', 'query {'), /q\.graphql is not GraphQL/],
  ])('%s is refused with a message', (_, path, sentence) => {
    expect(() => readKnownOperations(path())).toThrow(sentence)
  })
})
