/** The subgraph: its schema and its resolvers. */
import { readFileSync } from 'node:fs'
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse } from 'graphql'
import { users, videos } from './catalog.js'

const PAGE_MAX = 100

const resolvers = {
  Query: {
    video: (_, { id }) => videos.get(id) ?? null,
    videos(_, { first, after }) {
      const start = after == null ? 0 : Number(after)
      return [...videos.values()].slice(start, start + Math.min(Math.max(first, 0), PAGE_MAX))
    },
  },
  // A gateway fetches entities by their keys. An unknown id is null: another subgraph may still know it.
  Video: {
    __resolveReference: ({ id }) => videos.get(id) ?? null,
    author: ({ authorId }) => users.get(authorId) ?? null,
  },
  User: {
    __resolveReference: ({ id }) => users.get(id) ?? null,
  },
}

export const schema = buildSubgraphSchema([
  {
    typeDefs: parse(readFileSync(new URL('schema.graphql', import.meta.url), 'utf8')),
    resolvers,
  },
])
