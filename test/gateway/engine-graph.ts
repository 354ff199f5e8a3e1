/**
 * A small shop over four subgraphs, for the tests of the engine:
 *   catalog   lists, titles, sizes, the interface Node, the union Thing, mutations `add`, the subscription
 *   history   viewerProgress, and `cost`, which requires catalog's size
 *   thumbup   likes, and `score`, which requires history's cost
 *   plays     plays of the interface Media, as an interface object
 * `context.act` changes what one field does: { 'Video.title': (video) => { throw … } }.
 */
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse } from 'graphql'
import type { GraphQLSchema } from 'graphql'
import { composeSupergraph } from '../../gateway/supergraph/compose.ts'
import { makeEngine } from '../../gateway/operation/engine.ts'
import type { Engine, EngineOptions, ClosableEngine } from '../../gateway/operation/engine.ts'
import type { PreparedOperation, RequestContext } from '../../gateway/operation/prepared-operation.ts'
import { localTransport } from '../../gateway/transports/local-transport.ts'
import type { Transport } from '../../gateway/transports/transport.ts'

type Parent = Record<string, unknown> & { id: string }
export type Act = (parent: Parent, args: Record<string, unknown>) => unknown
export type GraphContext = { act: Record<string, Act>; calls: string[] }

export function makeContext(act: Record<string, Act> = {}): GraphContext {
  return { act, calls: [] }
}

const HEAD = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import:
  ["@key", "@external", "@requires", "@shareable", "@inaccessible", "@interfaceObject"])\n`

const SDL = {
  catalog: `
    type Query {
      feed(first: Int = 3): [Video!]!
      looseFeed: [Video]
      video(id: ID!): Video
      node(id: ID!): Node
      any: [Thing]!
      owner: Owner!
      media: [Media!]!
      kind(as: Kind): Kind
      echo(input: Echo!, times: Int! = 1): String!
      numbers: [Int!]
    }
    type Mutation { add(n: Int!): Counter! addAll: [Video!]! }
    type Subscription { added(count: Int!): Video! }
    input Echo { text: String!, suffix: String = "!" }
    type Counter { value: Int! }
    interface Node { id: ID! }
    type Video implements Node @key(fields: "id") { id: ID! title: String! subtitle: String size(unit: String = "kb"): Int! owner: Owner! tags: [String!]! similar: [Video!]! }
    type Article implements Node @key(fields: "id") { id: ID! title: Int words: Int headline: String! summary: String }
    type Owner @key(fields: "id") { id: ID! name: String! best: Video }
    union Thing = Video | Article
    enum Kind { OPEN CLOSED HIDDEN @inaccessible }
    interface Media @key(fields: "id") { id: ID! name: String }
    type Film implements Media @key(fields: "id") { id: ID! name: String minutes: Int }
    type Song implements Media @key(fields: "id") { id: ID! name: String }`,
  history: `
    type Query { progressCount: Int! }
    type Mutation { reset(n: Int!): Int! }
    type Video @key(fields: "id") {
      id: ID! size(unit: String = "kb"): Int! @external
      viewerProgress: Progress strictProgress: Progress! cost: Int! @requires(fields: "size(unit: \\"mb\\")")
    }
    type Article @key(fields: "id") { id: ID! viewerProgress: Progress }
    type Progress { position: Int! finished: Boolean! subject: Video! }`,
  thumbup: `
    type Query { topScore: Int }
    type Video @key(fields: "id") { id: ID! likeCount(since: Int = 0): Int! viewerMark: Mark! likers: [Owner!] cost: Int! @external score: Int! @requires(fields: "cost") }
    type Article @key(fields: "id") { id: ID! likeCount(since: Int = 0): Float wordCount: Int! }
    type Owner @key(fields: "id") { id: ID! likes: Int }
    enum Mark { NONE LIKE }`,
  plays: `
    type Query { topMedia: Media broken: Int }
    type Media @key(fields: "id") @interfaceObject { id: ID! plays: Int! }`,
}

export type SubgraphName = keyof typeof SDL

const video = (id: string) => ({
  __typename: 'Video',
  id,
  title: `v${id}`,
  subtitle: null,
  tags: ['x', `t${id}`],
  owner: { id: `o${Number(id) % 2}` },
})
const article = (id: string) => ({ __typename: 'Article', id, title: Number(id), words: 100, headline: `a${id}`, summary: `s${id}` })

type Resolver = (parent: Parent, args: Record<string, unknown>, context: GraphContext) => unknown
const RESOLVERS: Record<SubgraphName, Record<string, Record<string, Resolver | object>>> = {
  catalog: {
    Query: {
      feed: (_, { first }) => ['1', '2', '3', '4', '5'].slice(0, first as number).map(video),
      looseFeed: () => [video('1'), null, video('2'), video('3')],
      video: (_, { id }) => (id === 'none' ? null : video(id as string)),
      node: (_, { id }) => (id === '100' ? article('100') : video(id as string)),
      any: () => [video('1'), article('2'), null, video('3')],
      owner: () => ({ id: 'o1' }),
      media: () => [
        { __typename: 'Film', id: 'f1', name: 'Film 1', minutes: 90 },
        { __typename: 'Song', id: 's1', name: 'Song 1' },
      ],
      kind: (_, args) => args['as'] ?? 'OPEN',
      echo: (_, { input, times }) => {
        const { text, suffix } = input as { text: string; suffix: string }
        return (text + suffix).repeat(times as number)
      },
      numbers: () => [1, 2, 3],
    },
    Mutation: {
      add: async (_, { n }, context) => {
        context.calls.push(`add ${String(n)} begins`)
        await new Promise((resolve) => setImmediate(resolve))
        context.calls.push(`add ${String(n)} ends`)
        return { value: n }
      },
      addAll: () => [video('1')],
    },
    Subscription: {
      added: {
        subscribe: async function* (_: Parent, { count }: { count: number }, context: GraphContext) {
          try {
            for (let id = 1; id <= count; id += 1) yield { added: video(String(id)) }
            if (count === 0) throw new Error('the source dried up')
          } finally {
            context.calls.push('source closed')
          }
        },
      },
    },
    Video: {
      title: ({ id }) => `v${id}`,
      size: ({ id }, { unit }) => Number(id) * (unit === 'mb' ? 1 : 1_000),
      similar: ({ id }) => (id === '1' ? [video('2'), video('3')] : [video('1')]),
      owner: ({ id }) => ({ id: `o${Number(id) % 2}` }),
      tags: ({ id }) => ['x', `t${id}`],
      __resolveReference: { reference: ({ id }: Parent) => (id === 'gone' ? null : video(id)) },
    },
    Owner: { name: ({ id }) => `owner ${id}`, best: () => video('1') },
    Media: {
      __resolveReference: {
        reference: ({ id }: Parent) =>
          id.startsWith('f')
            ? { __typename: 'Film', id, name: `Film ${id.slice(1)}`, minutes: 90 }
            : { __typename: 'Song', id, name: 'Song' },
      },
      __resolveType: { reference: (value: { __typename: string }) => value.__typename },
    },
  },
  history: {
    Query: { progressCount: () => 7 },
    Mutation: {
      reset: (_, { n }, context) => {
        context.calls.push(`reset ${String(n)}`)
        return n
      },
    },
    Video: {
      viewerProgress: async ({ id }) => (Number(id) % 2 === 1 ? { position: Number(id) * 10, finished: false, subject: video(id) } : null),
      strictProgress: async ({ id }) => ({ position: Number(id), finished: true, subject: video(id) }),
      cost: ({ size }) => (size as number) * 10,
    },
    Article: { viewerProgress: async () => ({ position: 1, finished: true, subject: video('1') }) },
  },
  thumbup: {
    Query: { topScore: () => 99 },
    Video: {
      likeCount: async ({ id }, { since }, context) => {
        context.calls.push(`likes ${id}`)
        return Number(id) * 7 + (since as number)
      },
      viewerMark: async ({ id }) => (Number(id) % 2 === 0 ? 'LIKE' : 'NONE'),
      likers: () => [{ id: 'o1' }, { id: 'o0' }],
      score: ({ cost }) => (cost as number) + 1,
    },
    Article: { likeCount: async () => 1.5, wordCount: ({ id }) => 100 + Number(id) },
    Owner: { likes: ({ id }) => Number(id.slice(1)) + 40 },
  },
  plays: {
    Query: { topMedia: () => ({ id: 'f7' }), broken: () => 1 },
    Media: { plays: ({ id }) => id.length * 100 },
  },
}

export function graphSchema(name: SubgraphName): GraphQLSchema {
  const resolvers: Record<string, Record<string, unknown>> = {}
  for (const [type, fields] of Object.entries(RESOLVERS[name])) {
    resolvers[type] = Object.fromEntries(
      Object.entries(fields).map(([field, resolver]) => {
        if (typeof resolver !== 'function') return [field, 'reference' in resolver ? resolver.reference : resolver]
        const acting: Resolver = (parent, args, context) => (context.act[`${type}.${field}`] ?? resolver)(parent, args, context)
        return [field, acting]
      }),
    )
  }
  return buildSubgraphSchema([{ typeDefs: parse(HEAD + SDL[name]), resolvers: resolvers as never }])
}

export const NAMES = Object.keys(SDL) as SubgraphName[]
export const SUPERGRAPH = composeSupergraph(NAMES.map((name) => ({ name, sdl: HEAD + SDL[name] })))

type Wrap = (name: SubgraphName, transport: Transport) => Transport

/** The engine over the four subgraphs. `wrap` may wrap the transport of a subgraph. */
export function openGraph(wrap: Wrap = (_, transport) => transport, options: Partial<EngineOptions> = {}): ClosableEngine {
  const subgraphs = NAMES.map((name) => ({ name, transport: wrap(name, localTransport(graphSchema(name))) }))
  return makeEngine(SUPERGRAPH, subgraphs, { tokensMax: 1_000, ...options })
}

/** A transport that cannot reach its subgraph. */
export function failing(wanted: SubgraphName, error: Error): Wrap {
  return (name, transport) =>
    name === wanted
      ? { ...transport, compile: () => ({ run: () => Promise.reject(error), subscribe: () => Promise.reject(error) }) }
      : transport
}

export type Plain = { data?: unknown; errors?: { message: string; path?: (string | number)[]; extensions?: Record<string, unknown> }[] }

/** Runs one operation as a request over HTTP does, and returns the result as its JSON. */
export async function ask(
  engine: Engine,
  query: string,
  variables?: Record<string, unknown>,
  context: GraphContext = makeContext(),
): Promise<Plain> {
  const operation = engine.prepare(query)
  if ('errors' in operation) return JSON.parse(JSON.stringify(operation)) as Plain
  return JSON.parse(await jsonOf(operation, variables, context)) as Plain
}

/** The JSON that HTTP clients get, without formatted errors. */
export async function jsonOf(
  { execute, executeToJson = execute }: PreparedOperation,
  variables: Record<string, unknown> | undefined,
  context: RequestContext,
): Promise<string> {
  const answer = await executeToJson(variables, context)
  return Buffer.isBuffer(answer) ? answer.toString() : JSON.stringify(answer)
}
