/** Facts that the composer omits and this project adds. Without them each query gave a wrong answer, or was refused. */
import { parse } from 'graphql'
import { expect, it } from 'vitest'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { repairSupergraph } from '../../../gateway/supergraph/composition/supergraph-repairs.ts'
import { ask } from '../execution/audit-graph.ts'

it('a field that an interface object requires is fetched from the subgraph that has it', async () => {
  const media = {
    sdl: `type Query { q: Int } interface Media @key(fields: "id") { id: ID! title: String } type Book implements Media @key(fields: "id") { id: ID! title: String }`,
    resolvers: {
      Media: { __resolveReference: ({ id }: { id: string }) => ({ __typename: 'Book', id, title: `title ${id}` }) },
      Book: { __resolveReference: ({ id }: { id: string }) => ({ id, title: `title ${id}` }) },
    },
  }
  const labels = {
    sdl: `type Query { all: [Media!]! } type Media @interfaceObject @key(fields: "id") { id: ID! title: String @external label: String @requires(fields: "title") }`,
    resolvers: {
      Query: { all: () => [{ id: '1' }, { id: '2' }] },
      Media: { label: ({ title }: { title?: string }) => `label of ${title}` },
    },
  }
  expect(await ask({ media, labels }, '{ all { id label } }')).toEqual({
    data: {
      all: [
        { id: '1', label: 'label of title 1' },
        { id: '2', label: 'label of title 2' },
      ],
    },
  })
})

const wide = {
  sdl: `type Query { found: Thing @shareable shelf: Shelf @shareable } type Shelf { top: Thing @shareable } union Thing = Book | Film
    type Book @key(fields: "id") { id: ID! } type Film { minutes: Int }`,
  resolvers: { Query: { found: () => ({ __typename: 'Book', id: '1' }), shelf: () => ({ top: { __typename: 'Book', id: '2' } }) } },
}
const narrow = {
  sdl: `type Query { found: Book @shareable shelf: Shelf @shareable } type Shelf { top: Book @shareable } type Book @key(fields: "id") { id: ID! pages: Int }`,
  resolvers: {
    Query: { found: () => ({ id: '1' }), shelf: () => ({ top: { id: '2' } }) },
    Book: { pages: ({ id }: { id: string }) => Number(id) * 10 },
  },
}

it('a field with a union in one subgraph and a member of it in another has the union in the API', async () => {
  const fields = '{ __typename ... on Book { pages } ... on Film { minutes } }'
  expect(await ask({ wide, narrow }, `{ found ${fields} shelf { top ${fields} } }`)).toEqual({
    data: { found: { __typename: 'Book', pages: 10 }, shelf: { top: { __typename: 'Book', pages: 20 } } },
  })
})

it('an overridden field stays with its new owner', async () => {
  const taken = { ...narrow, sdl: narrow.sdl.replace('top: Book @shareable', 'top: Book @override(from: "wide")') }
  const old = { ...wide, resolvers: { Query: { ...wide.resolvers.Query, shelf: () => ({ top: { __typename: 'Film' } }) } } }
  expect(await ask({ wide: old, narrow: taken }, '{ shelf { top { ... on Book { pages } } } }')).toEqual({
    data: { shelf: { top: { pages: 20 } } },
  })
})

const TYPES = `interface Medium { id: ID! } interface Printed implements Medium { id: ID! pages: Int! }
  type Book implements Medium & Printed @shareable { id: ID! pages: Int! isbn: String! } type Comic implements Medium & Printed @shareable { id: ID! pages: Int! }
  type Film implements Medium @shareable { id: ID! }`
const loans = {
  sdl: `type Query { loans: [Loan!]! } type Loan @key(fields: "id") { id: ID! medium: Medium } ${TYPES}`,
  resolvers: {
    Query: { loans: () => ['Book', 'Comic', 'Film'].map((type) => ({ id: type })) },
    Loan: {
      __resolveReference: ({ id }: { id: string }) => ({ id }),
      medium: ({ id }: { id: string }) => ({ __typename: id, id: `the ${id}`, pages: 9, isbn: 'i' }),
    },
  },
}
const labelsOf = (fields: string) => ({
  sdl: `type Loan @key(fields: "id") { id: ID! medium: Medium @external label: String @requires(fields: "${fields}") } ${TYPES}`,
  resolvers: { Loan: { label: ({ medium }: { medium: object }) => JSON.stringify(medium) } },
})

it('@requires may nest conditions on interfaces', async () => {
  const labels = labelsOf('medium { id ... on Printed { pages ... on Book { isbn } } }')
  const answer = await ask({ loans, labels }, '{ loans { label } }')
  const { loans: labelled } = answer.data as { loans: { label: string }[] }
  const required = labelled.map(({ label }) => {
    const { __typename, ...fields } = JSON.parse(label) as Record<string, unknown>
    return fields
  })
  expect(required).toEqual([{ id: 'the Book', pages: 9, isbn: 'i' }, { id: 'the Comic', pages: 9 }, { id: 'the Film' }])
})

it('the composer reports the mistake in a field set', async () => {
  for (const fields of ['medium {', 'medium { ... on Printed { ... on Film { id } } }', 'nothing { ... on Printed { pages } }'])
    await expect(ask({ loans, labels: labelsOf(fields) }, '{ loans { label } }')).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
})

it('a complete supergraph is returned unchanged', () => {
  const one = { name: 'one', sdl: 'type Query { a: Int }' }
  const supergraph = composeSupergraph([one])
  expect(repairSupergraph(supergraph, [{ name: 'one', typeDefs: parse(one.sdl) }])).toBe(supergraph)
})
