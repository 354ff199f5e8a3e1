/**
 * The workload of the public graphql-gateways-benchmark, with our own data of the same sizes: four subgraphs, one query with
 * seven calls in four waves, and an answer of 87 KB that repeats a few values many times.
 */
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse } from 'graphql'
import type { GraphQLSchema } from 'graphql'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'

export const QUERY = `fragment User on User { id username name }
fragment Review on Review { id body }
fragment Product on Product { inStock name price shippingEstimate upc weight }
query TestQuery {
  users {
    ...User
    reviews {
      ...Review
      product { ...Product reviews { ...Review author { ...User reviews { ...Review product { ...Product } } } } }
    }
  }
  topProducts {
    ...Product
    reviews { ...Review author { ...User reviews { ...Review product { ...Product } } } }
  }
}`

const HEAD =
  'extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key", "@external", "@requires", "@provides"])\n'

const SDL = {
  accounts: `type Query { me: User user(id: ID!): User users: [User] }
    type User @key(fields: "id") { id: ID! name: String username: String birthday: Int }`,
  inventory: `type Product @key(fields: "upc") {
      upc: String! weight: Int @external price: Int @external inStock: Boolean
      shippingEstimate: Int @requires(fields: "price weight")
    }`,
  products: `type Query { topProducts(first: Int = 5): [Product] }
    type Product @key(fields: "upc") { upc: String! name: String price: Int weight: Int }`,
  reviews: `type Product @key(fields: "upc") { upc: String! reviews: [Review] }
    type Review @key(fields: "id") { id: ID! body: String product: Product author: User @provides(fields: "username") }
    type User @key(fields: "id") { id: ID! username: String @external reviews: [Review] }`,
}

export type RemoteName = keyof typeof SDL
export const NAMES = Object.keys(SDL) as RemoteName[]

const PEOPLE = ['Ida Holm', 'Ben Okafor', 'Mia Lindqvist', 'Tomas Herrera', 'Aiko Tanabe', 'Lena Vogel']
const USERS = PEOPLE.map((name, index) => ({
  id: String(index + 1),
  name,
  username: name.replace(' ', '').toLowerCase(),
  birthday: 1_234_567_890,
}))
const GOODS: [name: string, price: number, weight: number, inStock: boolean][] = [
  ['Desk', 899, 100, true],
  ['Bench', 1_299, 1_000, false],
  ['Plate', 15, 20, false],
  ['Stool', 499, 100, false],
  ['Piano', 1_299, 1_000, true],
  ['Clock', 6_999, 300, true],
  ['Stove', 3_999, 2_000, true],
  ['Boiler', 100_000, 6_000, false],
  ['Carpet', 9_999, 800, true],
]
const PRODUCTS = GOODS.map(([name, price, weight, inStock], index) => ({ upc: String(index + 1), name, price, weight, inStock }))
/** The length of each review, and its product. */
const REVIEWED: [length: number, upc: string][] = [
  [445, '1'],
  [289, '1'],
  [275, '1'],
  [143, '1'],
  [445, '2'],
  [289, '2'],
  [275, '2'],
  [143, '2'],
  [143, '3'],
  [143, '4'],
  [844, '4'],
]
const WORDS = 'it stands where we put it and does what it should every day of the week, rain or shine; we would buy it again. '
const REVIEWS = REVIEWED.map(([length, upc], index) => ({
  id: String(index + 1),
  body: WORDS.repeat(8).slice(index, index + length),
  product: { upc },
  author: { id: '1', username: USERS[0]?.username },
}))

type Thing = Record<string, string>
const RESOLVERS: Record<RemoteName, Record<string, Record<string, (parent: Thing, args: Thing) => unknown>>> = {
  accounts: {
    Query: { me: () => USERS[0], user: (_, { id }) => USERS.find((user) => user.id === id), users: () => USERS },
    User: { __resolveReference: ({ id }) => USERS.find((user) => user.id === id) },
  },
  inventory: {
    Product: {
      __resolveReference: (reference) => ({ ...reference, inStock: PRODUCTS.find(({ upc }) => upc === reference['upc'])?.inStock }),
      shippingEstimate: ({ price, weight }) => (Number(price) > 1_000 ? 0 : Math.floor(Number(weight) / 2)),
    },
  },
  products: {
    Query: { topProducts: (_, { first }) => PRODUCTS.slice(0, Number(first)) },
    Product: { __resolveReference: ({ upc }) => PRODUCTS.find((product) => product.upc === upc) },
  },
  reviews: {
    Product: { reviews: ({ upc }) => REVIEWS.filter(({ product }) => product.upc === upc) },
    User: { reviews: () => REVIEWS.slice(0, 2) },
  },
}

export function remoteSchema(name: RemoteName): GraphQLSchema {
  return buildSubgraphSchema([{ typeDefs: parse(HEAD + SDL[name]), resolvers: RESOLVERS[name] as never }])
}

/** The supergraph of subgraphs at `origin`, each at the path of its name. */
export function remoteSupergraph(origin: string): string {
  return composeSupergraph(NAMES.map((name) => ({ name, sdl: HEAD + SDL[name], url: `${origin}/${name}` })))
}
