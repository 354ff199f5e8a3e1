import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse } from 'graphql'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { makeEngine, type ClosableEngine } from '../../../gateway/operation/engine.ts'
import type { ClientMemory } from '../../../gateway/memory/client-memory.ts'
import { localTransport } from '../../../gateway/transports/local-transport.ts'
import type { Transport } from '../../../gateway/transports/transport.ts'

/** A graph with guarded fields and types, an engine for it, and notes of the calls and fetches that operations cause. */
export const HEAD = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import:
  ["@key", "@authenticated", "@requiresScopes", "@external", "@requires", "@shareable"])\n`

const SHOP = `${HEAD}
  type Query {
    open: String
    me: User @authenticated
    strictMe: User! @authenticated
    users: [User!]!
    looseUsers: [User]
    any: [Thing!]!
    node(of: String!): Node
    level: Level
    stamp: Stamp
    report: Report
    marked: Marked
  }
  type Mutation { write(n: Int!): Int @requiresScopes(scopes: [["shop:write"]]) touch: Int! }
  type Subscription { secrets: Int @authenticated users: User }
  interface Node { id: ID! note: String }
  type User implements Node @key(fields: "id") {
    id: ID!
    name: String
    mail: String @authenticated
    phone: String! @requiresScopes(scopes: [["phone"]])
    salary: Int @requiresScopes(scopes: [["hr", "money"], ["boss"]])
    note: String @authenticated
    friends: [User!]!
  }
  type Page implements Node @key(fields: "id") { id: ID! note: String }
  type Vault @authenticated { id: ID! code: Int }
  union Thing = Page | Vault
  enum Level @requiresScopes(scopes: [["level"]]) { LOW HIGH }
  scalar Stamp @authenticated
  type Report @authenticated { total: Int }
  type Marked { ${[0, 1, 2, 3, 4, 5].map((scope) => `f${scope}: Int @requiresScopes(scopes: [["s${scope}"]])`).join(' ')} }`
export const MARKED = 'marked { f0 f1 f2 f3 f4 f5 }'

const REVIEWS = `${HEAD}
  type Query { topReview: Review }
  type Review { body: String author: User @authenticated }
  type User @key(fields: "id") { id: ID! reviews: [Review!] @authenticated karma: Int }`

const user = (id: string) => ({ __typename: 'User', id })
const resolvers = (calls: string[]) => ({
  shop: {
    Query: {
      open: () => 'yes',
      me: () => calls.push('me') && user('1'),
      strictMe: () => calls.push('strictMe') && user('1'),
      users: () => [user('1'), user('2')],
      looseUsers: () => [user('1'), null, user('2')],
      any: () => [
        { __typename: 'Page', id: 'p' },
        { __typename: 'Vault', id: 'v', code: 7 },
      ],
      node: (_: unknown, { of }: { of: string }) => ({ __typename: of, id: of }),
      level: () => calls.push('level') && 'LOW',
      stamp: () => calls.push('stamp') && 1,
      report: () => calls.push('report') && { total: 1 },
    },
    Mutation: { write: (_: unknown, { n }: { n: number }) => calls.push('write') && n, touch: () => calls.push('touch') && 1 },
    Subscription: {
      secrets: {
        subscribe: async function* () {
          calls.push('secrets')
          yield { secrets: 1 }
        },
      },
      users: {
        subscribe: async function* () {
          yield { users: user('1') }
        },
      },
    },
    User: {
      name: ({ id }: { id: string }) => `user ${id}`,
      mail: ({ id }: { id: string }) => calls.push('mail') && `${id}@example.org`,
      phone: () => calls.push('phone') && '555',
      salary: () => calls.push('salary') && 100,
      note: () => calls.push('note') && 'n',
      friends: ({ id }: { id: string }) => (id === '1' ? [user('2'), user('3')] : []),
      __resolveReference: ({ id }: { id: string }) => user(id),
    },
    Page: { note: () => 'a page', __resolveReference: ({ id }: { id: string }) => ({ id }) },
  },
  reviews: {
    Query: { topReview: () => ({ body: 'good', author: { id: '1' } }) },
    User: {
      reviews: ({ id }: { id: string }) => calls.push('reviews') && [{ body: `by ${id}`, author: { id } }],
      karma: ({ id }: { id: string }) => Number(id) * 10,
      __resolveReference: ({ id }: { id: string }) => ({ id }),
    },
  },
})

/** The resolvers that ran. */
export const calls: string[] = []
/** Texts of the compiled fetches. */
export const fetched: string[] = []

export function clearNotes(): void {
  calls.splice(0)
  fetched.splice(0)
}

export function noting(transport: Transport): Transport {
  return { ...transport, compile: (operation) => (fetched.push(operation.text), transport.compile(operation)) }
}

export function open(wrap: (transport: Transport) => Transport = noting, memory?: ClientMemory): ClosableEngine {
  const made = resolvers(calls)
  const subgraphs = [
    { name: 'shop', sdl: SHOP, resolvers: made.shop },
    { name: 'reviews', sdl: REVIEWS, resolvers: made.reviews },
  ]
  return makeEngine(
    composeSupergraph(subgraphs),
    subgraphs.map(({ name, sdl, resolvers: own }) => ({
      name,
      transport: wrap(localTransport(buildSubgraphSchema([{ typeDefs: parse(sdl), resolvers: own as never }]))),
    })),
    { tokensMax: 1_000, ...(memory && { memory }) },
  )
}

export const engine = open()

export type Plain = { data?: unknown; errors?: { message: string; path?: (string | number)[]; extensions: { code: string } }[] }

export async function ask(query: string, scopes?: string, variables?: Record<string, unknown>): Promise<Plain> {
  const operation = engine.prepare(query)
  if ('errors' in operation) throw operation.errors[0]
  const viewer = scopes === undefined ? undefined : { id: '1', scopes: scopes.split(' ') }
  return JSON.parse(JSON.stringify(await operation.execute(variables, { viewer }))) as Plain
}

export const codes = ({ errors = [] }: Plain) => errors.map(({ path, extensions }) => [path?.join('.'), extensions.code])
export const NOBODY = 'UNAUTHENTICATED'
export const LACKING = 'UNAUTHORIZED_FIELD_OR_TYPE'
