/** The queries of a router to a standalone subgraph: its SDL, entities by every form of key, and traces. Also of our own subgraphs. */
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse, visit } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { startAlone, type StartedAlone } from '../../support/standalone.ts'
import { makeDataFolder, makeSwitchedStores, serveOn } from '../../subgraphs/switched-stores.ts'

const SDL = `
  extend schema
    @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@composeDirective", "@external", "@inaccessible",
      "@interfaceObject", "@key", "@override", "@provides", "@requires", "@shareable", "@tag"])
    @link(url: "https://example.com/shelves/v1.0", import: ["@shelved"])
    @composeDirective(name: "@shelved")
  directive @shelved on OBJECT
  type Query { book(id: ID!): Book old: Book @deprecated(reason: "use book") }
  type Book @shelved @key(fields: "id") @key(fields: "isbn edition") @key(fields: "isbn shelf { id }") {
    id: ID! isbn: String edition: Int shelf: Shelf size: Size writer: Writer @provides(fields: "books") note: String @tag(name: "internal")
  }
  type Shelf { id: ID! }
  type Size @shareable { pages: Int grams: Float @inaccessible }
  type Loan @key(fields: "reader { card }") { reader: Reader! until: String }
  type Reader { card: ID! }
  type Writer @key(fields: "email") { email: ID! @external books: Int @external years: Int! @external name: String @override(from: "people")
    booksPerYear: Int @requires(fields: "books years") }
  type Stock @interfaceObject @key(fields: "id") { id: ID! left: Int! }`

const BOOKS = [
  { id: '1', isbn: 'i1', edition: 2, shelf: { id: 's1' }, size: { pages: 9, grams: 100 }, writer: { email: 'a@example.com', books: 30 } },
  { id: '2', isbn: 'i2', edition: 1, shelf: { id: 's2' } },
]
type Reference = { id?: string; isbn?: string; edition?: number; shelf?: { id: string } }

const RESOLVERS = {
  Query: { book: (_: unknown, { id }: { id: string }) => BOOKS.find((book) => book.id === id) },
  Book: {
    __resolveReference: ({ id, isbn, edition, shelf }: Reference) =>
      BOOKS.find((book) =>
        id === undefined ? book.isbn === isbn && (book.edition === edition || book.shelf.id === shelf?.id) : book.id === id,
      ),
  },
  Loan: { __resolveReference: ({ reader }: { reader: { card: string } }) => ({ reader, until: `until ${reader.card}` }) },
  Writer: { booksPerYear: ({ books, years }: { books: number; years: number }) => books / years, name: () => 'Ada' },
  Stock: { left: () => 4 },
}

const ENTITIES =
  'query ($of: [_Any!]!) { _entities(representations: $of) { __typename ...on Book { id } ...on Loan { until reader { card } } ...on Writer { email name booksPerYear } ...on Stock { left } } }'

async function post(
  url: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<{ data: any; errors?: any; extensions?: any }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return (await response.json()) as { data: any }
}

describe('a subgraph alone', () => {
  let subgraph: StartedAlone
  const ask = (query: string, of?: readonly object[], headers?: Record<string, string>) =>
    post(subgraph.url, { query, variables: { of } }, headers)
  beforeAll(async () => {
    const schema = buildSubgraphSchema([{ typeDefs: parse(SDL), resolvers: RESOLVERS as never }])
    subgraph = await startAlone(schema)
  })
  afterAll(() => subgraph.stop())

  it('a standalone subgraph gives its SDL with all of its directives', async () => {
    const { sdl } = (await ask('{ _service { sdl } }')).data._service as { sdl: string }
    expect(directivesOf(sdl)).toEqual(directivesOf(SDL))
  })

  it('a standalone subgraph finds an entity by any of its keys, single, multiple and composite, in the order of the representations', async () => {
    const of = [
      { __typename: 'Book', isbn: 'i2', shelf: { id: 's2' } },
      { __typename: 'Book', id: '1' },
      { __typename: 'Book', isbn: 'i2', edition: 1 },
      { __typename: 'Loan', reader: { card: 'c' } },
      { __typename: 'Book', id: 'none' },
    ]
    expect(await ask(ENTITIES, of)).toEqual({
      data: {
        _entities: [
          { __typename: 'Book', id: '2' },
          { __typename: 'Book', id: '1' },
          { __typename: 'Book', id: '2' },
          { __typename: 'Loan', until: 'until c', reader: { card: 'c' } },
          null,
        ],
      },
    })
  })

  it('a standalone subgraph computes fields with @requires from the representation, and serves types of an interface by its name', async () => {
    const of = [
      { __typename: 'Writer', email: 'a@example.com', books: 30, years: 10 },
      { __typename: 'Stock', id: '1' },
    ]
    expect(await ask(ENTITIES, of)).toEqual({
      data: {
        _entities: [
          { __typename: 'Writer', email: 'a@example.com', name: 'Ada', booksPerYear: 3 },
          { __typename: 'Stock', left: 4 },
        ],
      },
    })
  })

  it('a standalone subgraph answers provided and inaccessible fields, and introspection', async () => {
    expect(
      await ask('{ book(id: "1") { size { pages grams } writer { books } } __type(name: "_Entity") { possibleTypes { name } } }'),
    ).toEqual({
      data: {
        book: { size: { pages: 9, grams: 100 }, writer: { books: 30 } },
        __type: { possibleTypes: ['Book', 'Loan', 'Stock', 'Writer'].map((name) => ({ name })) },
      },
    })
  })

  it('a standalone subgraph traces only if the router asks for it', async () => {
    expect(await ask('{ __typename }', undefined, { 'apollo-federation-include-trace': 'ftv1' })).toEqual({
      data: { __typename: 'Query' },
      extensions: { ftv1: expect.stringMatching(/^[\w+/]+=*$/) as unknown },
    })
    expect(await ask('{ __typename }')).toEqual({ data: { __typename: 'Query' } })
  })

  it('a representation of a type that is not an entity is an error of that call', async () => {
    const { data, errors } = await ask(ENTITIES, [{ __typename: 'Comet', id: '1' }])
    expect(data?._entities?.[0] ?? null).toBeNull()
    expect(errors).toHaveLength(1)
  })
})

describe('the history subgraph alone', () => {
  const folder = makeDataFolder()
  const { history, stop } = serveOn(makeSwitchedStores(), folder.path)
  let subgraph: StartedAlone
  beforeAll(async () => {
    subgraph = await startAlone(history.schema, () => {
      const degraded: Degraded = new Set()
      return { viewer: { id: '7', scopes: [] }, degraded, loaders: history.makeLoaders(degraded) } as object
    })
  })
  afterAll(async () => {
    await subgraph.stop()
    await stop()
    folder.remove()
  })

  it('the history subgraph gives an SDL of Federation 2 in which the entity of every business has a key', async () => {
    const { sdl } = (await post(subgraph.url, { query: '{ _service { sdl } }' })).data._service as { sdl: string }
    expect(sdl).toMatch(/@link\(url: "https:\/\/specs\.apollo\.dev\/federation\/v2\.\d+", import: \[[^\]]*"@key"/)
    expect(sdl.match(/specs\.apollo\.dev\/federation\//g)).toHaveLength(1)
    for (const entity of ['Video', 'Article', 'Comic']) expect(sdl).toMatch(new RegExp(`type ${entity}\\b[^{]*@key\\(fields: "id"`))
  })

  it('the history subgraph gives the progress of entities of several businesses in one call, in their order', async () => {
    const report =
      'mutation ($id: ID!, $business: String!) { reportProgress(input: { business: $business, id: $id, position: 5 }) { outcome } }'
    await post(subgraph.url, { query: report, variables: { business: 'comic', id: '3' } })
    const of = [
      { __typename: 'Video', id: '3' },
      { __typename: 'Comic', id: '3' },
    ]
    const query =
      'query ($of: [_Any!]!) { _entities(representations: $of) { ...on Video { id viewerProgress { position } } ...on Comic { id viewerProgress { position } } } }'
    expect(await post(subgraph.url, { query, variables: { of } })).toEqual({
      data: {
        _entities: [
          { id: '3', viewerProgress: null },
          { id: '3', viewerProgress: { position: 5 } },
        ],
      },
    })
  })
})

/** All uses of directives, sorted: `Book.note @tag(name: "internal")`. */
function directivesOf(sdl: string): string[] {
  const uses: string[] = []
  const place: string[] = []
  visit(parse(sdl), {
    enter(node) {
      if ('name' in node && node.name !== undefined && 'directives' in node) place.push(node.name.value)
      if (node.kind !== 'Directive') return
      const given = (node.arguments ?? [])
        .filter(({ name }) => name.value !== 'resolvable')
        .map(({ name, value }) => `${name.value}: ${text(value)}`)
      uses.push(`${place.join('.')} @${node.name.value}(${given.join(', ')})`)
    },
    leave(node) {
      if ('name' in node && node.name !== undefined && 'directives' in node) place.pop()
    },
  })
  return uses.sort()
}

function text(value: unknown): string {
  return JSON.stringify(value, (key, inner: unknown) => (key === 'loc' || key === 'block' ? undefined : inner))
}
