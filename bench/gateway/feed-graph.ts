/**
 * The graph of the feed benchmark: 50 videos with 6 fields over four subgraphs, all data in memory. Every field of the last
 * three subgraphs is read through a DataLoader (200 lookups per request). The same resolvers also make one merged schema.
 */
import { buildSubgraphSchema } from '@apollo/subgraph'
import DataLoader from 'dataloader'
import { buildSchema, isObjectType, parse } from 'graphql'
import type { GraphQLSchema } from 'graphql'
import { composeSupergraph } from '../../gateway/supergraph/compose.ts'

export const FEED_QUERY = 'query Feed { feed { id title viewerProgress { position finished } likeCount viewerMark viewerSeen } }'
export const FEED_LENGTH = 50

type Video = { id: string }
type Load<Value> = (id: string) => Promise<Value>
export type FeedContext = {
  progress: Load<{ position: number; finished: boolean }>
  likes: Load<number>
  mark: Load<string>
  seen: Load<boolean>
}

/** A new set of loaders per request. */
export function makeFeedContext(): FeedContext {
  const load = <Value>(read: (id: string) => Value): Load<Value> => {
    const loader = new DataLoader<string, Value>((ids) => Promise.resolve(ids.map(read)))
    return (id) => loader.load(id)
  }
  return {
    progress: load((id) => ({ position: Number(id) * 10, finished: Number(id) % 3 === 0 })),
    likes: load((id) => Number(id) * 7),
    mark: load((id) => (Number(id) % 2 === 0 ? 'LIKE' : 'NONE')),
    seen: load((id) => Number(id) % 5 === 0),
  }
}

const feed = Array.from({ length: FEED_LENGTH }, (_, index) => ({ id: String(1_000 + index), title: `The title of video number ${index}` }))

type Resolve = (parent: Video, args: unknown, context: FeedContext) => unknown
type Resolvers = Record<string, Record<string, Resolve>>

const RESOLVERS: Resolvers = {
  Query: { feed: () => feed },
  Video: {
    viewerProgress: ({ id }, _, context) => context.progress(id),
    likeCount: ({ id }, _, context) => context.likes(id),
    viewerMark: ({ id }, _, context) => context.mark(id),
    viewerSeen: ({ id }, _, context) => context.seen(id),
  },
}

const HEAD = 'extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key"])\n'
const PROGRESS = 'type Progress { position: Int! finished: Boolean! }'
const MARK = 'enum Mark { NONE LIKE DISLIKE }'

const SUBGRAPHS = {
  catalog: 'type Query { feed: [Video!]! } type Video @key(fields: "id") { id: ID! title: String! }',
  history: `type Video @key(fields: "id") { id: ID! viewerProgress: Progress } ${PROGRESS}`,
  thumbup: `type Video @key(fields: "id") { id: ID! likeCount: Int! viewerMark: Mark! } ${MARK}`,
  existence: 'type Video @key(fields: "id") { id: ID! viewerSeen: Boolean! }',
}

const MERGED = `type Query { feed: [Video!]! } ${PROGRESS} ${MARK}
type Video { id: ID! title: String! viewerProgress: Progress likeCount: Int! viewerMark: Mark! viewerSeen: Boolean! }`

/** SDL and resolvers of each subgraph, for gateways that build schemas themselves. A subgraph has only the resolvers of its own fields. */
export function feedModules(): { name: string; sdl: string; resolvers: Resolvers }[] {
  return Object.entries(SUBGRAPHS).map(([name, sdl]) => ({ name, sdl: HEAD + sdl, resolvers: resolversFor(sdl) }))
}

function resolversFor(sdl: string): Resolvers {
  const own = Object.entries(RESOLVERS).map(([type, resolvers]) => {
    const fields = Object.entries(resolvers).filter(([field]) => new RegExp(`\\b${field}:`).test(sdl))
    return [type, Object.fromEntries(fields)] as const
  })
  return Object.fromEntries(own.filter(([, resolvers]) => Object.keys(resolvers).length > 0))
}

export function feedSubgraphs(): { name: string; schema: GraphQLSchema }[] {
  return feedModules().map(({ name, sdl }) => ({ name, schema: withResolvers(buildSubgraphSchema(parse(sdl))) }))
}

/** No server listens at the URLs in it; some gateways require one for each subgraph. */
export function feedSupergraph(): string {
  return composeSupergraph(feedModules().map(({ name, sdl }) => ({ name, sdl, url: `http://127.0.0.1:9/${name}` })))
}

export function mergedFeedSchema(): GraphQLSchema {
  return withResolvers(buildSchema(MERGED))
}

function withResolvers(schema: GraphQLSchema): GraphQLSchema {
  for (const [typeName, resolvers] of Object.entries(RESOLVERS)) {
    const type = schema.getType(typeName)
    if (!isObjectType(type)) continue
    const fields = type.getFields()
    for (const [name, resolve] of Object.entries(resolvers)) {
      const field = fields[name]
      if (field !== undefined) field.resolve = resolve
    }
  }
  return schema
}
