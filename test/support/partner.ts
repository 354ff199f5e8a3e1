/** The subgraph of a partner as a real HTTP server. A test may change its schema and behaviour while it runs. */
import { buildSubgraphSchema } from '@apollo/subgraph'
import { graphql, parse, type GraphQLSchema } from 'graphql'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const LINK = 'extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key", "@shareable"])\n'

/** Adds a title to the videos of our history. */
export const VIDEOS = `${LINK}
type Query { "A video, if there is one." video(id: ID!): Video }
type Video @key(fields: "id") { id: ID! title: String }
`

const RESOLVERS = {
  Query: { video: (_: unknown, { id }: { id: string }) => ({ id }) },
  Video: { title: ({ id }: { id: string }) => `title of ${id}` },
}

export type Partner = {
  readonly url: string
  /** The number of answered requests. */
  calls(): number
  /** A header of the last request. */
  header(name: string): string | string[] | undefined
  /** Replaces the schema. */
  become(sdl: string): void
  /** Replaces the answers; undefined restores the normal ones. */
  answer(how: ((request: IncomingMessage, response: ServerResponse) => void) | undefined): void
  stop(): Promise<void>
}

export async function startPartner(sdl: string = VIDEOS, resolvers: Record<string, unknown> = RESOLVERS): Promise<Partner> {
  let schema = build(sdl, resolvers)
  let special: ((request: IncomingMessage, response: ServerResponse) => void) | undefined
  let calls = 0
  let headers: IncomingMessage['headers'] = {}
  const server = createServer((request, response) => {
    calls += 1
    headers = request.headers
    if (special !== undefined) return special(request, response)
    void respond(schema, request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    calls: () => calls,
    header: (name) => headers[name],
    become(next) {
      schema = build(next, resolvers)
    },
    answer(how) {
      special = how
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function build(sdl: string, resolvers: Record<string, unknown>): GraphQLSchema {
  const known = Object.fromEntries(Object.entries(resolvers).filter(([type]) => sdl.includes(`type ${type}`)))
  return buildSubgraphSchema([{ typeDefs: parse(sdl), resolvers: known as NonNullable<unknown> }] as Parameters<
    typeof buildSubgraphSchema
  >[0])
}

async function respond(schema: GraphQLSchema, request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  const { query, variables } = JSON.parse(body) as { query: string; variables?: Record<string, unknown> }
  const result = await graphql({ schema, source: query, variableValues: variables ?? {} })
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(result))
}
