/** Long texts of remote subgraphs are places in their answers, see escaped.ts. They must not differ from other texts. */
import { expect, it } from 'vitest'
import { Piece, textOf } from '../../../gateway/execution/escaped.ts'
import { mergeObjects } from '../../../gateway/execution/merge.ts'
import { ask } from './audit-graph.ts'

const LONG = 'long '.repeat(20)
const LONG_NAME = `Page${'OfALongName'.repeat(6)}`

it('type names, enum values and keys may be long', async () => {
  const parts = {
    pages: {
      sdl: `type Query { pages: [Page!]! } interface Page { id: ID! } enum Kind { ${LONG_NAME} }
        type ${LONG_NAME} implements Page @key(fields: "id") { id: ID! kind: Kind! }`,
      resolvers: {
        Query: { pages: () => ['1', '2', '1'].map((id) => ({ __typename: LONG_NAME, id: LONG + id, kind: LONG_NAME })) },
      },
    },
    likes: {
      sdl: `type ${LONG_NAME} @key(fields: "id") { id: ID! likes: String! }`,
      resolvers: { [LONG_NAME]: { likes: ({ id }: { id: string }) => `likes of ${id}` } },
    },
  }
  const page = (id: string) => ({ __typename: LONG_NAME, id: LONG + id, kind: LONG_NAME, likes: `likes of ${LONG}${id}` })
  expect(await ask(parts, `{ pages { __typename id ... on ${LONG_NAME} { kind likes } } }`)).toEqual({
    data: { pages: [page('1'), page('2'), page('1')] },
  })
})

it('values of one type from several subgraphs are merged in each place of a repeated entity', async () => {
  const infos = (field: string) => ({
    sdl: `type Item @key(fields: "id") { id: ID! info: Info! @shareable } type Info { ${field}: Text! } type Text @shareable { text: String! lines: [String!]! }`,
    resolvers: { Item: { info: ({ id }: { id: string }) => ({ [field]: { text: `${field} ${LONG}${id}`, lines: [LONG, field] } }) } },
  })
  const parts = {
    items: {
      sdl: 'type Query { items: [Item!]! } type Item @key(fields: "id") { id: ID! }',
      resolvers: { Query: { items: () => ['1', '2', '1'].map((id) => ({ id })) } },
    },
    first: infos('first'),
    second: infos('second'),
  }
  const text = (field: string, id: string) => ({ text: `${field} ${LONG}${id}`, lines: [LONG, field] })
  const item = (id: string) => ({ info: { first: text('first', id), second: text('second', id) } })
  expect(await ask(parts, '{ items { info { first { text lines } second { text lines } } } }')).toEqual({
    data: { items: [item('1'), item('2'), item('1')] },
  })
})

it('a long text of a later answer replaces that of an earlier one, whose bytes stay as they are', () => {
  const [earlier, later] = [Buffer.from('first,neighbour'), Buffer.from('second and longer')]
  const neighbour = new Piece(earlier, 6, 15)
  const target = { list: [new Piece(earlier, 0, 5)], text: new Piece(earlier, 0, 5), neighbour }
  mergeObjects(target, { list: [new Piece(later, 0, 6)], text: new Piece(later, 0, 6) })
  expect([...target.list, target.text, target.neighbour].map(textOf)).toEqual(['second', 'second', 'neighbour'])
})

it('an object of a later answer replaces a long text, and does not move it to other bytes', () => {
  const bytes = Buffer.from('text,neighbour')
  const text = new Piece(bytes, 0, 4)
  const target = { text, list: [text] }
  const forged = { start: 0, end: 4_000_000_000 }
  mergeObjects(target, { text: forged, list: [forged] })
  expect(target).toEqual({ text: forged, list: [forged] })
  expect(text).toEqual(new Piece(bytes, 0, 4))
})
