/** Entities: the keys that reach each subgraph, and missing keys. */
import { describe, expect, it } from 'vitest'
import { ask } from './audit-graph.ts'

const byId =
  <T extends { id: string }>(items: readonly T[]) =>
  ({ id }: { id: string }) =>
    items.find((item) => item.id === id)

describe('keys', () => {
  it('an entity is completed by a subgraph that extends it', async () => {
    const parts = {
      people: {
        sdl: 'type Query { me: Person } type Person @key(fields: "id") { id: ID! }',
        resolvers: { Query: { me: () => ({ id: 'p1' }) } },
      },
      names: {
        sdl: 'type Person @key(fields: "id") { id: ID! name: String! }',
        resolvers: { Person: { __resolveReference: byId([{ id: 'p1', name: 'Ada' }]) } },
      },
    }
    expect(await ask(parts, '{ me { name } }')).toEqual({ data: { me: { name: 'Ada' } } })
  })

  it('a subgraph with another key is reached through the subgraph that knows both', async () => {
    const parts = {
      shop: {
        sdl: 'type Query { item: Item } type Item @key(fields: "sku") { sku: ID! }',
        resolvers: { Query: { item: () => ({ sku: 's1' }) } },
      },
      index: {
        sdl: 'type Item @key(fields: "sku") @key(fields: "code") { sku: ID! code: ID! }',
        resolvers: {
          Item: { __resolveReference: ({ sku, code }: { sku?: string; code?: string }) => ({ sku: sku ?? 's1', code: code ?? 'c1' }) },
        },
      },
      stock: {
        sdl: 'type Item @key(fields: "code") { code: ID! left: Int! }',
        resolvers: { Item: { left: ({ code }: { code: string }) => (code === 'c1' ? 7 : 0) } },
      },
    }
    expect(await ask(parts, '{ item { left } }')).toEqual({ data: { item: { left: 7 } } })
  })

  it('a key may have several fields, nested fields and lists of them', async () => {
    const parts = {
      carts: {
        sdl: `type Query { cart: Cart }
          type Cart @key(fields: "lines { item { id maker { id } } }") { lines: [Line!]! }
          type Line { item: Item! } type Item @key(fields: "id maker { id }") { id: ID! maker: Maker! } type Maker { id: ID! }`,
        resolvers: { Query: { cart: () => ({ lines: ['1', '2'].map((id) => ({ item: { id, maker: { id: `m${id}` } } })) }) } },
      },
      prices: {
        sdl: `type Cart @key(fields: "lines { item { id maker { id } } }") { lines: [Line!]! @external total: Int! }
          type Line { item: Item! @external } type Maker { id: ID! @external }
          type Item @key(fields: "id maker { id }") { id: ID! maker: Maker! price: Int! }`,
        resolvers: {
          Cart: { total: ({ lines }: { lines: { item: { id: string } }[] }) => lines.reduce((sum, { item }) => sum + Number(item.id), 0) },
          Item: { price: ({ id, maker }: { id: string; maker: { id: string } }) => (maker.id === `m${id}` ? Number(id) : -1) },
        },
      },
    }
    expect(await ask(parts, '{ cart { total lines { item { price } } } }')).toEqual({
      data: { cart: { total: 3, lines: [{ item: { price: 1 } }, { item: { price: 2 } }] } },
    })
  })
})

describe('entities in several subgraphs', () => {
  it('an entity with a null key has no other fields, and its neighbours have theirs', async () => {
    const parts = {
      a: {
        sdl: 'type Query { books: [Book!]! } type Book @key(fields: "isbn") @key(fields: "id") { id: ID! isbn: String }',
        resolvers: {
          Query: {
            books: () => [
              { id: '1', isbn: null },
              { id: '2', isbn: 'i2' },
            ],
          },
        },
      },
      b: {
        sdl: 'type Book @key(fields: "isbn") { isbn: String title: String }',
        resolvers: { Book: { title: ({ isbn }: { isbn: string | null }) => (isbn === null ? null : `title of ${isbn}`) } },
      },
    }
    expect(await ask(parts, '{ books { id title } }')).toMatchObject({
      data: {
        books: [
          { id: '1', title: null },
          { id: '2', title: 'title of i2' },
        ],
      },
    })
  })

  it('a subgraph that does not know an entity nulls its own fields only, and not its neighbours', async () => {
    const parts = {
      a: {
        sdl: 'type Query { all: [Thing!]! } type Thing @key(fields: "id") { id: ID! }',
        resolvers: { Query: { all: () => [{ id: '1' }, { id: '2' }] } },
      },
      b: {
        sdl: 'type Thing @key(fields: "id") { id: ID! size: Int }',
        resolvers: { Thing: { __resolveReference: byId([{ id: '2', size: 5 }]) } },
      },
    }
    expect(await ask(parts, '{ all { id size } }')).toEqual({
      data: {
        all: [
          { id: '1', size: null },
          { id: '2', size: 5 },
        ],
      },
    })
  })

  it('a field with the same name in two subgraphs, and not shared, comes from its owner', async () => {
    // `code` is external in b: b needs it for its key, and must not be asked for it.
    const parts = {
      a: {
        sdl: 'type Query { one: Item! } type Item @key(fields: "id") { id: ID! code: String! }',
        resolvers: { Query: { one: () => ({ id: '1', code: 'right' }) } },
      },
      b: {
        sdl: `type Query { other: Item! } type Item @key(fields: "id") { id: ID! code: String! @external label: String! @requires(fields: "code") }`,
        resolvers: {
          Query: { other: () => ({ id: '1', code: 'wrong' }) },
          Item: { label: ({ code }: { code: string }) => `label ${code}` },
        },
      },
    }
    const resolveItem = { Item: { __resolveReference: () => ({ id: '1', code: 'right' }) } }
    const complete = { ...parts, a: { ...parts.a, resolvers: { ...parts.a.resolvers, ...resolveItem } } }
    expect(await ask(complete, '{ other { code label } }')).toEqual({ data: { other: { code: 'right', label: 'label right' } } })
  })

  it('an entity below a value type is reached from its parent', async () => {
    const parts = {
      a: {
        sdl: 'type Query { item: Item } type Item @key(fields: "id pid") { id: ID! pid: ID! }',
        resolvers: { Query: { item: () => ({ id: '1', pid: 'p1' }) } },
      },
      b: {
        sdl: `type Item @key(fields: "id pid") { id: ID! pid: ID! category: Category @shareable } type Category @shareable { details: Details }
          type Details @shareable { products: Int }`,
        resolvers: { Item: { category: () => ({ details: { products: 3 } }) } },
      },
      c: {
        sdl: `type Item @key(fields: "id pid") { id: ID! pid: ID! category: Category @shareable } type Category { details: Details @shareable }
          type Details @key(fields: "products", resolvable: false) { products: Int @shareable }`,
        resolvers: { Item: { category: () => ({ details: { products: 3 } }) } },
      },
    }
    expect(await ask(parts, '{ item { category { details { products } } } }')).toEqual({
      data: { item: { category: { details: { products: 3 } } } },
    })
  })
})

describe('Federation 1', () => {
  const products = {
    v1: true,
    sdl: 'type Query { top: Product } type Product @key(fields: "id") { id: ID! price: Int weight: Int }',
    resolvers: {
      Query: { top: () => ({ id: '1', price: 1_000, weight: 2 }) },
      Product: { __resolveReference: ({ id }: { id: string }) => ({ id, price: 1_000, weight: 2 }) },
    },
  }

  for (const extending of ['extend type Product', 'type Product @extends'] as const) {
    it(`${extending} with @external and @requires adds fields`, async () => {
      const shipping = {
        v1: true,
        sdl: `${extending} @key(fields: "id") { id: ID! @external price: Int @external weight: Int @external
          cost: Int @requires(fields: "price weight") }`,
        resolvers: { Product: { cost: ({ price, weight }: { price: number; weight: number }) => price * weight } },
      }
      expect(await ask({ products, shipping }, '{ top { cost } }')).toEqual({ data: { top: { cost: 2_000 } } })
    })
  }

  it('and Federation 2 compose', async () => {
    const names = {
      sdl: 'type Product @key(fields: "id") { id: ID! name: String }',
      resolvers: { Product: { name: ({ id }: { id: string }) => `n${id}` } },
    }
    expect(await ask({ products, names }, '{ top { price name } }')).toEqual({ data: { top: { price: 1_000, name: 'n1' } } })
  })
})
