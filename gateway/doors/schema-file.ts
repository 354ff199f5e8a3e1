/**
 * The schema as a file: `GET /graphql/schema.graphql` is the SDL of the API that clients see, and `?subgraph=NAME` the SDL of one of our
 * subgraphs. `tidemark schema` prints the same texts. The text of the API follows the graph that serves. It is printed once per graph.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { printSchema, type GraphQLSchema } from 'graphql'
import { TidemarkError } from '../../core/errors.ts'
import { JSON_TYPE } from './accept.ts'
import { NOT_STORED, refusal } from './answers.ts'

export type SchemaFileOptions = {
  /** The setting that hides the schema from clients, such as `server.introspection: false`. Absent: clients may read it. */
  readonly schemaHiddenBy?: string | undefined
  /** The SDL at the path itself, at this moment. Absent: the printed schema of the engine. */
  readonly apiSdl?: () => string
  /** The SDL of each subgraph in this process, by name. Default: none. */
  readonly subgraphSdls?: () => ReadonlyMap<string, string>
}

/** `engine.schema` changes with the graph. */
export function addSchemaRoute(
  app: FastifyInstance,
  path: string,
  engine: { readonly schema: GraphQLSchema },
  { schemaHiddenBy, apiSdl, subgraphSdls = () => new Map() }: SchemaFileOptions,
): void {
  const printed = new WeakMap<GraphQLSchema, string>()

  function apiText(): string {
    const { schema } = engine
    const text = apiSdl?.() ?? printed.get(schema) ?? printSchema(schema)
    printed.set(schema, text)
    return text
  }

  app.get<{ Querystring: { subgraph?: string | string[] } }>(path, { exposeHeadRoute: true }, async ({ query }, reply) => {
    reply.headers(NOT_STORED)
    if (schemaHiddenBy !== undefined)
      return refuse(reply, 403, new TidemarkError('FORBIDDEN', `clients may not read this schema (${schemaHiddenBy}): use tidemark schema`))
    const { subgraph } = query
    const text = subgraph === undefined ? apiText() : subgraphSdls().get(String(subgraph))
    if (text === undefined) return refuse(reply, 404, noSubgraph(String(subgraph), [...subgraphSdls().keys()]))
    return reply.type('text/plain; charset=utf-8').send(`${text}\n`)
  })
}

function noSubgraph(name: string, known: readonly string[]): TidemarkError {
  const advice = known.length === 0 ? 'leave ?subgraph out' : `use ${known.join(', ')}, or leave ?subgraph out`
  return new TidemarkError('BAD_REQUEST', `no subgraph "${name.slice(0, 64)}" runs in this process: ${advice}`)
}

function refuse(reply: FastifyReply, status: number, error: TidemarkError): FastifyReply {
  const { contentType, body } = refusal(error, JSON_TYPE)
  return reply.code(status).header('content-type', contentType).send(body)
}
