/** Fields that require fields of other subgraphs, provided fields, and overridden fields. */
import { describe, expect, it } from 'vitest'
import { ask } from './audit-graph.ts'

const goods = [
  { id: '1', price: 10, weight: 3 },
  { id: '2', price: 20, weight: null },
]
const find = ({ id }: { id: string }) => goods.find((each) => each.id === id)
const shop = {
  sdl: `type Query { goods: [Good!]! } type Good @key(fields: "id") { id: ID! price(currency: String = "EUR"): Int weight: Int }`,
  resolvers: {
    Query: { goods: () => goods },
    Good: {
      __resolveReference: find,
      price: ({ price }: { price: number }, { currency }: { currency: string }) => (currency === 'EUR' ? price : price * 100),
    },
  },
}

describe('@requires', () => {
  it('a required field is fetched without being selected, and is not in the answer', async () => {
    const post = {
      sdl: 'type Good @key(fields: "id") { id: ID! weight: Int @external isHeavy: Boolean @requires(fields: "weight") }',
      resolvers: { Good: { isHeavy: ({ weight }: { weight: number | null }) => (weight === null ? null : weight > 2) } },
    }
    expect(await ask({ shop, post }, '{ goods { isHeavy } }')).toEqual({ data: { goods: [{ isHeavy: true }, { isHeavy: null }] } })
  })

  it('a required field may itself require another field', async () => {
    const post = {
      sdl: 'type Good @key(fields: "id") { id: ID! weight: Int @external postage: Int @requires(fields: "weight") }',
      resolvers: { Good: { postage: ({ weight }: { weight: number | null }) => (weight ?? 1) * 2 } },
    }
    const bill = {
      sdl: 'type Good @key(fields: "id") { id: ID! postage: Int @external tax: Int @requires(fields: "postage") }',
      resolvers: { Good: { tax: ({ postage }: { postage: number }) => postage + 100 } },
    }
    const total = {
      sdl: 'type Good @key(fields: "id") { id: ID! tax: Int @external postage: Int @external total: Int @requires(fields: "tax postage") }',
      resolvers: { Good: { total: ({ tax, postage }: { tax: number; postage: number }) => tax + postage } },
    }
    expect(await ask({ shop, post, bill, total }, '{ goods { total } }')).toEqual({ data: { goods: [{ total: 112 }, { total: 104 }] } })
  })

  it('two subgraphs may require each other’s fields', async () => {
    const a = {
      sdl: `type Query { post: Post! } type Post @key(fields: "id") { id: ID! author: Author! @external isByExpert: Boolean! @requires(fields: "author { years }") }
        type Author @key(fields: "id") { id: ID! years: Int! @external }`,
      resolvers: {
        Query: { post: () => ({ id: 'p' }) },
        Post: { isByExpert: ({ author }: { author: { years: number } }) => author.years > 5 },
      },
    }
    const b = {
      sdl: `type Post @key(fields: "id") { id: ID! isByExpert: Boolean! @external author: Author! badge: String! @requires(fields: "isByExpert") }
        type Author @key(fields: "id") { id: ID! years: Int! }`,
      resolvers: {
        Post: { author: () => ({ id: 'a', years: 9 }), badge: ({ isByExpert }: { isByExpert: boolean }) => (isByExpert ? 'gold' : 'none') },
        Author: { __resolveReference: () => ({ id: 'a', years: 9 }) },
      },
    }
    expect(await ask({ a, b }, '{ post { badge } }')).toEqual({ data: { post: { badge: 'gold' } } })
  })

  it('arguments of the client and of the requirement do not collide', async () => {
    const post = {
      sdl: `type Good @key(fields: "id") { id: ID! price(currency: String): Int @external
        inCents: Int @requires(fields: "price(currency: \\"CENT\\")") inEuro: Int @requires(fields: "price(currency: \\"EUR\\")") }`,
      resolvers: {
        Good: { inCents: ({ price }: { price: number }) => price, inEuro: ({ price }: { price: number }) => price },
      },
    }
    const priced = { ...shop, sdl: shop.sdl.replace('String = "EUR"', 'String') }
    const answer = await ask({ shop: priced, post }, '{ goods { price(currency: "EUR") inCents } }')
    expect(answer).toEqual({
      data: {
        goods: [
          { price: 10, inCents: 1_000 },
          { price: 20, inCents: 2_000 },
        ],
      },
    })
    const both = await ask({ shop: priced, post }, '{ goods { inEuro inCents price(currency: "CENT") } }')
    expect(both).toEqual({
      data: {
        goods: [
          { inEuro: 10, inCents: 1_000, price: 1_000 },
          { inEuro: 20, inCents: 2_000, price: 2_000 },
        ],
      },
    })
  })
})

describe('@requires beside the selections of the client', () => {
  it('an alias of the client with the name of a required field does not replace it', async () => {
    const post = {
      sdl: 'type Good @key(fields: "id") { id: ID! weight: Int @external isHeavy: Boolean @requires(fields: "weight") }',
      resolvers: { Good: { isHeavy: ({ weight }: { weight: number }) => weight > 2 } },
    }
    expect(await ask({ shop, post }, '{ goods { weight: price id: weight isHeavy } }')).toEqual({
      data: {
        goods: [
          { weight: 10, id: 3, isHeavy: true },
          { weight: 20, id: null, isHeavy: false },
        ],
      },
    })
  })

  it('a field of a nested object may be required, and also one that only some types have', async () => {
    const garage = {
      sdl: `type Query { owner: Owner! } type Owner @key(fields: "id") { id: ID! vehicle: Vehicle! }
        union Vehicle = Car | Bike type Car { wheels: Int! engine: Engine! } type Bike { wheels: Int! } type Engine { power: Int! }`,
      resolvers: {
        Query: { owner: () => ({ id: 'o' }) },
        Owner: {
          __resolveReference: () => ({ id: 'o' }),
          vehicle: () => ({ __typename: 'Car', wheels: 4, engine: { power: 90 } }),
        },
      },
    }
    const tax = {
      sdl: `type Owner @key(fields: "id") { id: ID! vehicle: Vehicle! @external tax: Int! @requires(fields: "vehicle { ... on Car { engine { power } } ... on Bike { wheels } }") }
        union Vehicle = Car | Bike type Car { engine: Engine! @external } type Bike { wheels: Int! @external } type Engine { power: Int! @external }`,
      resolvers: { Owner: { tax: ({ vehicle }: { vehicle: { engine?: { power: number } } }) => vehicle.engine?.power ?? 0 } },
    }
    expect(await ask({ garage, tax }, '{ owner { tax vehicle { ... on Car { wheels } } } }')).toEqual({
      data: { owner: { tax: 90, vehicle: { wheels: 4 } } },
    })
  })

  const QUERY =
    'query ($no: Boolean = false, $yes: Boolean = true) { goods { price @include(if: $no) cost @skip(if: $no) again: cost @include(if: $no) id @skip(if: $yes) } }'
  it('@skip and @include of the client do not affect required fields', async () => {
    const post = {
      sdl: `type Good @key(fields: "id") { id: ID! price(currency: String = "EUR"): Int @external cost: Int @requires(fields: "price") }`,
      resolvers: { Good: { cost: ({ price }: { price: number }) => price + 1 } },
    }
    expect(await ask({ shop, post }, QUERY)).toEqual({ data: { goods: [{ cost: 11 }, { cost: 21 }] } })
    expect(await ask({ shop, post }, QUERY, { no: true, yes: false })).toEqual({
      data: {
        goods: [
          { price: 10, again: 11, id: '1' },
          { price: 20, again: 21, id: '2' },
        ],
      },
    })
  })
})

describe('@provides', () => {
  it('a provided field is not fetched again, also within lists and below other fields', async () => {
    const calls: string[] = []
    const a = {
      sdl: `type Query { shelf: [Box!]! @provides(fields: "lid { color maker { name } }") }
        type Box @key(fields: "id") { id: ID! lid: Lid @external } type Lid { color: String @external maker: Maker @external } type Maker { name: String @external }`,
      resolvers: { Query: { shelf: () => [{ id: '1', lid: { color: 'red', maker: { name: 'M' } } }] } },
    }
    const b = {
      sdl: `type Box @key(fields: "id") { id: ID! lid: Lid size: Int } type Lid { color: String maker: Maker } type Maker { name: String }`,
      resolvers: { Box: { __resolveReference: ({ id }: { id: string }) => (calls.push(id), { id, size: 3, lid: { color: 'wrong' } }) } },
    }
    expect(await ask({ a, b }, '{ shelf { lid { color maker { name } } } }')).toEqual({
      data: { shelf: [{ lid: { color: 'red', maker: { name: 'M' } } }] },
    })
    expect(calls).toEqual([])
  })

  it('a provided field of a union member comes from there, and fields of other members from their owner', async () => {
    const a = {
      sdl: `type Query { media: [Media!]! @shareable @provides(fields: "... on Book { title }") } union Media = Book | Film
        type Book @key(fields: "id") { id: ID! title: String @external } type Film @key(fields: "id") { id: ID! }`,
      resolvers: {
        Query: {
          media: () => [
            { __typename: 'Book', id: 'b', title: 'provided' },
            { __typename: 'Film', id: 'f' },
          ],
        },
      },
    }
    const b = {
      sdl: `type Book @key(fields: "id") { id: ID! title: String } type Film @key(fields: "id") { id: ID! title: String }`,
      resolvers: { Book: { title: () => 'owned' }, Film: { title: ({ id }: { id: string }) => `film ${id}` } },
    }
    expect(await ask({ a, b }, '{ media { ... on Book { title } ... on Film { title } } }')).toEqual({
      data: { media: [{ title: 'provided' }, { title: 'film f' }] },
    })
  })
})

describe('@override', () => {
  const old = {
    sdl: 'type Query { post: Post! feed: [Post!]! } type Post @key(fields: "id") { id: ID! body: String! at: String! }',
    resolvers: {
      Query: { post: () => ({ id: '1', body: 'b', at: 'old' }), feed: () => [{ id: '1', body: 'b', at: 'old' }] },
      Post: { __resolveReference: ({ id }: { id: string }) => ({ id, body: 'b', at: 'old' }) },
    },
  }

  it('an overridden field comes from its new owner, even if the old one is at hand', async () => {
    const next = {
      sdl: 'type Post @key(fields: "id") { id: ID! at: String! @override(from: "old") }',
      resolvers: { Post: { at: () => 'new' } },
    }
    expect(await ask({ old, next }, '{ post { at body } feed { at } }')).toEqual({
      data: { post: { at: 'new', body: 'b' }, feed: [{ at: 'new' }] },
    })
  })

  it('a field that was overridden from a removed subgraph has one owner', async () => {
    const next = {
      sdl: 'type Post @key(fields: "id") { id: ID! likes: Int! @override(from: "gone") }',
      resolvers: { Post: { likes: () => 4 } },
    }
    expect(await ask({ old, next }, '{ post { likes } }')).toEqual({ data: { post: { likes: 4 } } })
  })

  it('an overridden field can be required', async () => {
    const next = {
      sdl: 'type Post @key(fields: "id") { id: ID! at: String! @override(from: "old") body: String! @external line: String! @requires(fields: "body") }',
      resolvers: { Post: { at: () => 'new', line: ({ body }: { body: string }) => `line ${body}` } },
    }
    const third = {
      sdl: 'type Post @key(fields: "id") { id: ID! at: String! @external since: String! @requires(fields: "at") }',
      resolvers: { Post: { since: ({ at }: { at: string }) => `since ${at}` } },
    }
    expect(await ask({ old, next, third }, '{ post { since line } }')).toEqual({ data: { post: { since: 'since new', line: 'line b' } } })
  })
})
