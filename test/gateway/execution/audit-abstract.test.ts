/** Interfaces, unions, interface objects and enums that differ between subgraphs. */
import { describe, expect, it } from 'vitest'
import { ask } from './audit-graph.ts'

type Id = { id: string }

describe('interfaces', () => {
  const catalog = {
    sdl: `type Query { all: [Product!]! node(id: ID!): Node } interface Node { id: ID! } interface Product { id: ID! size: Size }
      type Size { cm: Int } type Oven implements Product & Node @key(fields: "id") { id: ID! size: Size }
      type Toaster implements Product & Node @key(fields: "id") { id: ID! size: Size warranty: Int }`,
    resolvers: {
      Query: {
        all: () => [
          { __typename: 'Oven', id: 'o', size: { cm: 60 } },
          { __typename: 'Toaster', id: 't', size: null, warranty: 2 },
        ],
        node: (_: unknown, { id }: Id) => ({ __typename: id === 'o' ? 'Oven' : 'Toaster', id, warranty: 2 }),
      },
    },
  }
  const extra = {
    sdl: 'type Oven @key(fields: "id") { id: ID! warranty: Int } type Toaster @key(fields: "id") { id: ID! colors: [String!]! }',
    resolvers: { Oven: { warranty: () => 5 }, Toaster: { colors: ({ id }: Id) => [`${id} red`] } },
  }

  it('fields of one type come from different subgraphs for different types', async () => {
    const query = '{ all { __typename id size { cm } ... on Oven { warranty } ... on Toaster { warranty colors } } }'
    expect(await ask({ catalog, extra }, query)).toEqual({
      data: {
        all: [
          { __typename: 'Oven', id: 'o', size: { cm: 60 }, warranty: 5 },
          { __typename: 'Toaster', id: 't', size: null, warranty: 2, colors: ['t red'] },
        ],
      },
    })
  })

  it('a Node that any subgraph may extend is resolved by its type', async () => {
    const query = '{ oven: node(id: "o") { id ... on Oven { warranty } } toaster: node(id: "t") { __typename ... on Toaster { colors } } }'
    expect(await ask({ catalog, extra }, query)).toEqual({
      data: { oven: { id: 'o', warranty: 5 }, toaster: { __typename: 'Toaster', colors: ['t red'] } },
    })
  })

  it('one key of the client may have different types in different types', async () => {
    const query = '{ all { ... on Oven { value: warranty } ... on Toaster { value: colors } } }'
    const conflicting = await ask({ catalog, extra }, query)
    expect(conflicting.errors?.[0]?.message, 'Int and [String!]! cannot be merged').toContain('conflict')
    const fragments = '{ all { ... on Oven { a: warranty } ... on Product { id } ... on Toaster { a: warranty } } }'
    expect(await ask({ catalog, extra }, fragments)).toEqual({
      data: {
        all: [
          { a: 5, id: 'o' },
          { id: 't', a: 2 },
        ],
      },
    })
  })

  it('an interface that refers to itself through its types is resolved to the depth of the query', async () => {
    const a = {
      sdl: `type Query { one: Item } interface Item { samples: [Item!]! } type Book implements Item @key(fields: "id") { id: ID! samples: [Book!]! @shareable }`,
      resolvers: {
        Query: { one: () => ({ __typename: 'Book', id: '1' }) },
        Book: { samples: ({ id }: Id) => (id === '1' ? [{ id: '2' }, { id: '3' }] : []) },
      },
    }
    const b = {
      sdl: 'type Book @key(fields: "id") { id: ID! price: Int samples: [Book!]! @shareable }',
      resolvers: { Book: { price: ({ id }: Id) => Number(id), samples: ({ id }: Id) => (id === '1' ? [{ id: '2' }, { id: '3' }] : []) } },
    }
    const query = '{ one { ... on Book { price samples { ... on Book { id price samples { __typename } } } } } }'
    expect(await ask({ a, b }, query)).toEqual({
      data: {
        one: {
          price: 1,
          samples: [
            { id: '2', price: 2, samples: [] },
            { id: '3', price: 3, samples: [] },
          ],
        },
      },
    })
  })
})

describe('unions', () => {
  it('a member of a union is not asked of a subgraph that does not know it', async () => {
    const a = {
      sdl: `type Query { found: [Found] } union Found = Book | Song type Book @key(fields: "id") { id: ID! title: String! @shareable } type Song { title: String! }`,
      resolvers: {
        Query: {
          found: () => [
            { __typename: 'Book', id: '1', title: 'book' },
            { __typename: 'Song', title: 'song' },
          ],
        },
      },
    }
    const b = {
      sdl: `type Query { seen: [Found] } union Found = Book | Film type Book @key(fields: "id") { id: ID! pages: Int title: String! @shareable } type Film { title: String! }`,
      resolvers: {
        Query: {
          seen: () => [
            { __typename: 'Film', title: 'film' },
            { __typename: 'Book', id: '2', title: 'other' },
          ],
        },
        Book: { pages: () => 9 },
      },
    }
    const fields = '{ __typename ... on Book { title pages } ... on Song { title } ... on Film { title } }'
    expect(await ask({ a, b }, `{ found ${fields} seen ${fields} }`)).toEqual({
      data: {
        found: [
          { __typename: 'Book', title: 'book', pages: 9 },
          { __typename: 'Song', title: 'song' },
        ],
        seen: [
          { __typename: 'Film', title: 'film' },
          { __typename: 'Book', title: 'other', pages: 9 },
        ],
      },
    })
  })

  it('entities in a union are completed by other subgraphs, member by member', async () => {
    const a = {
      sdl: `type Query { home: Home } type Home { blocks: [Block!]! } union Block = Banner | Row
        type Banner @key(fields: "id") { id: ID! } type Row @key(fields: "id") { id: ID! }`,
      resolvers: {
        Query: {
          home: () => ({
            blocks: [
              { __typename: 'Row', id: 'r' },
              { __typename: 'Banner', id: 'b' },
              { __typename: 'Row', id: 's' },
            ],
          }),
        },
      },
    }
    const b = {
      sdl: 'type Banner @key(fields: "id") { id: ID! text: String } type Row @key(fields: "id") { id: ID! text: String count: Int! }',
      resolvers: { Banner: { text: () => 'hello' }, Row: { text: ({ id }: Id) => `row ${id}`, count: () => 1 } },
    }
    expect(await ask({ a, b }, '{ home { blocks { ... on Banner { text } ... on Row { text count } } } }')).toEqual({
      data: { home: { blocks: [{ text: 'row r', count: 1 }, { text: 'hello' }, { text: 'row s', count: 1 }] } },
    })
  })
})

describe('interface objects', () => {
  const media = {
    sdl: `type Query { media: [Media!]! } interface Media @key(fields: "id") { id: ID! title: String! }
      type Book implements Media @key(fields: "id") { id: ID! title: String! pages: Int! }
      type Film implements Media @key(fields: "id") { id: ID! title: String! }`,
    resolvers: {
      Query: {
        media: () => [
          { __typename: 'Book', id: '1', title: 'B', pages: 3 },
          { __typename: 'Film', id: '2', title: 'F' },
        ],
      },
      Media: {
        __resolveReference: ({ id }: Id) =>
          id === '1' ? { __typename: 'Book', id, title: 'B', pages: 3 } : { __typename: 'Film', id, title: 'F' },
      },
      Book: { __resolveReference: ({ id }: Id) => ({ id, title: 'B', pages: 3 }) },
      Film: { __resolveReference: ({ id }: Id) => ({ id, title: 'F' }) },
    },
  }
  const reviews = {
    sdl: 'type Query { reviewed: [Media!]! } type Media @interfaceObject @key(fields: "id") { id: ID! stars: Int! }',
    resolvers: {
      Query: {
        reviewed: () => [
          { id: '2', stars: 2 },
          { id: '1', stars: 1 },
        ],
      },
      Media: { stars: ({ id }: Id) => Number(id) },
    },
  }

  it('every type of the interface has the fields of the interface object', async () => {
    expect(await ask({ media, reviews }, '{ media { title stars ... on Book { pages stars } } }')).toEqual({
      data: {
        media: [
          { title: 'B', stars: 1, pages: 3 },
          { title: 'F', stars: 2 },
        ],
      },
    })
  })

  it('an interface object gets its concrete type, and its fields, from the subgraph with the types', async () => {
    expect(await ask({ media, reviews }, '{ reviewed { __typename id title stars ... on Book { pages } } }')).toEqual({
      data: {
        reviewed: [
          { __typename: 'Film', id: '2', title: 'F', stars: 2 },
          { __typename: 'Book', id: '1', title: 'B', stars: 1, pages: 3 },
        ],
      },
    })
  })

  it('fields of the interface object alone need no other subgraph', async () => {
    expect(await ask({ media, reviews }, '{ reviewed { id stars } }')).toEqual({
      data: {
        reviewed: [
          { id: '2', stars: 2 },
          { id: '1', stars: 1 },
        ],
      },
    })
  })
})

describe('differences between subgraphs', () => {
  const users = {
    sdl: `type Query { users: [User!]! } enum Role { ADMIN @inaccessible GUEST } type User @key(fields: "id") { id: ID @shareable role: Role @shareable secret: String @inaccessible }`,
    resolvers: {
      Query: {
        users: () => [
          { id: '1', role: 'GUEST', secret: 's' },
          { id: '2', role: 'ADMIN' },
        ],
      },
    },
  }

  it('an inaccessible enum value is null, and the error does not name it', async () => {
    const answer = await ask({ users }, '{ users { id role } }')
    expect(answer.data).toEqual({
      users: [
        { id: '1', role: 'GUEST' },
        { id: '2', role: null },
      ],
    })
    expect(answer.errors).toMatchObject([{ path: ['users', 1, 'role'] }])
    expect(JSON.stringify(answer.errors)).not.toContain('ADMIN')
  })

  it('an inaccessible field cannot be selected', async () => {
    const answer = await ask({ users }, '{ users { secret } }')
    expect(answer).not.toHaveProperty('data')
    expect(answer.errors?.[0]?.message).toContain('Cannot query field "secret"')
  })

  it('an argument or input field that only one of two subgraphs has is not in the API', async () => {
    const a = {
      sdl: 'type Query { find(by: By): Int @shareable } input By { id: ID name: String }',
      resolvers: { Query: { find: () => 1 } },
    }
    const b = { sdl: 'type Query { find(by: By): Int @shareable } input By { id: ID }', resolvers: { Query: { find: () => 1 } } }
    expect(await ask({ a, b }, '{ find(by: { id: "1" }) }')).toEqual({ data: { find: 1 } })
    expect((await ask({ a, b }, '{ find(by: { name: "x" }) }')).errors).toHaveLength(1)
  })

  it('a field that is nullable in one subgraph is nullable', async () => {
    const a = { sdl: 'type Query { a: Point @shareable } type Point @shareable { x: Int! }', resolvers: { Query: { a: () => ({ x: 1 }) } } }
    const b = {
      sdl: 'type Query { b: Point @shareable } type Point @shareable { x: Int }',
      resolvers: { Query: { b: () => ({ x: null }) } },
    }
    expect(await ask({ a, b }, '{ a { x } b { x } }')).toEqual({ data: { a: { x: 1 }, b: { x: null } } })
  })
})

describe('roots', () => {
  it('fields of a shared root come from the subgraphs that have them, merged into one object', async () => {
    const a = {
      sdl: 'type Query { me: Me! @shareable } type Me { id: ID! @shareable name: Name! } type Name { first: String! }',
      resolvers: { Query: { me: () => ({ id: '1', name: { first: 'Ada' } }) } },
    }
    const b = {
      sdl: 'type Query { me: Me! @shareable } type Me { id: ID! @shareable age: Int! }',
      resolvers: { Query: { me: () => ({ id: '1', age: 36 }) } },
    }
    expect(await ask({ a, b }, '{ me { id name { first } age } }')).toEqual({ data: { me: { id: '1', name: { first: 'Ada' }, age: 36 } } })
  })

  it('__typename is answered at every level, under any alias, and alone', async () => {
    const a = {
      sdl: 'type Query { one: Thing } union Thing = A | B type A { x: Int } type B { y: Int }',
      resolvers: { Query: { one: () => ({ __typename: 'B', y: 1 }) } },
    }
    expect(await ask({ a }, '{ __typename t: __typename one { kind: __typename ... on B { again: __typename } } }')).toEqual({
      data: { __typename: 'Query', t: 'Query', one: { kind: 'B', again: 'B' } },
    })
    expect(await ask({ a }, '{ __typename }')).toEqual({ data: { __typename: 'Query' } })
  })

  it('a graph without mutations and subscriptions refuses them as a mistake of the client', async () => {
    const a = { sdl: 'type Query { one: Int }', resolvers: { Query: { one: () => 1 } } }
    for (const kind of ['mutation', 'subscription'])
      expect((await ask({ a }, `${kind} { __typename }`)).errors).toMatchObject([{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }])
  })

  it('mutations of several subgraphs run one after the other, in the order of the document, with any fetches below', async () => {
    const log: string[] = []
    const slow = async (what: string): Promise<number> => {
      log.push(`${what} begins`)
      await new Promise((resolve) => setTimeout(resolve, 10))
      log.push(`${what} ends`)
      return 1
    }
    const a = {
      sdl: 'type Query { q: Int } type Mutation { add(n: Int!): Box! multiply: Int! } type Box @key(fields: "id") { id: ID! }',
      resolvers: {
        Mutation: {
          add: async (_: unknown, { n }: { n: number }) => (await slow(`add ${n}`), { id: '1' }),
          multiply: () => slow('multiply'),
        },
      },
    }
    const b = {
      sdl: 'type Mutation { remove: Int! } type Box @key(fields: "id") { id: ID! size: Int! }',
      resolvers: { Mutation: { remove: () => slow('remove') }, Box: { size: () => slow('size') } },
    }
    const query = 'mutation { first: add(n: 1) { size } remove second: add(n: 2) { id } multiply }'
    const answer = await ask({ a, b }, query)
    expect(answer).toEqual({ data: { first: { size: 1 }, remove: 1, second: { id: '1' }, multiply: 1 } })
    const order = log.slice(0, log.length / 2).filter((line) => !line.startsWith('size'))
    expect(order).toEqual(['add 1', 'remove', 'add 2', 'multiply'].flatMap((what) => [`${what} begins`, `${what} ends`]))
  })
})
