/**
 * Runs the operations of one standalone subgraph on Apollo Server, with traces for routers that ask for them. It serves the same schema
 * object that the gateway runs in its process.
 *
 * Only parsed and checked operations come here (gateway/standalone/). Apollo Server finds their documents in its document store while they
 * run, so it parses, validates and keeps nothing. Errors leave as resolvers threw them: the transport decides how much a client sees.
 */
import { ApolloServer, HeaderMap, type ApolloServerPlugin } from '@apollo/server'
import { ApolloServerPluginCacheControlDisabled } from '@apollo/server/plugin/disabled'
import { ApolloServerPluginInlineTrace } from '@apollo/server/plugin/inlineTrace'
import type { DocumentNode, ExecutionResult, GraphQLError, GraphQLSchema } from 'graphql'
import { createHash } from 'node:crypto'
import { takeEntitiesInTurns } from './entity-batches.ts'
import { publishSdl } from './published-sdl.ts'

/** Routers that trace send this header to ask for timings. */
export const TRACE_HEADER = 'apollo-federation-include-trace'

type Variables = Readonly<Record<string, unknown>>

export type Standalone = {
  /** `document`: one validated operation. `trace`: the value of the trace header. Rejects only where Apollo Server does. */
  execute(document: DocumentNode, variables: Variables | undefined, context: object, trace?: string): Promise<ExecutionResult>
  stop(): Promise<void>
}

/** The context of a request in Apollo Server, which copies the context and formats errors for a client of its own. */
const CARRIED = Symbol('carried')
type Carried = { errors?: readonly GraphQLError[] }
type Context = { [CARRIED]?: Carried }

/** `sdl`: the answer of `_service`. Absent: that of buildSubgraphSchema. */
export async function startStandalone(schema: GraphQLSchema, sdl?: string): Promise<Standalone> {
  takeEntitiesInTurns(schema)
  if (sdl !== undefined) publishSdl(schema, sdl)
  const documents = makeDocumentsUnderWay()
  const server = new ApolloServer<Context>({
    schema,
    introspection: true,
    includeStacktraceInErrorResponses: false,
    stopOnTerminationSignals: false,
    persistedQueries: false,
    documentStore: documents.store,
    // Both plugins are named here. Otherwise Apollo Server logs the first, and the second wraps every resolver.
    plugins: [ApolloServerPluginInlineTrace(), ApolloServerPluginCacheControlDisabled(), keepErrors],
  })
  await server.start()
  return {
    async execute(document, variables, context, trace) {
      const carried: Carried = {}
      const headers = new HeaderMap(trace === undefined ? [] : [[TRACE_HEADER, trace]])
      const { name, release } = documents.begin(document)
      try {
        const { body } = await server.executeOperation(
          { query: name, variables: { ...variables }, http: { method: 'POST', headers, search: '', body: undefined } },
          { contextValue: { ...context, [CARRIED]: carried } },
        )
        if (body.kind !== 'single') throw new Error('Apollo Server answered in parts, although @defer is not supported')
        const { errors, ...result } = body.singleResult
        return errors === undefined ? result : { ...result, errors: carried.errors ?? [] }
      } finally {
        release()
      }
    },
    stop: () => server.stop(),
  }
}

const keepErrors: ApolloServerPlugin<Context> = {
  requestDidStart: ({ contextValue: { [CARRIED]: carried } }) =>
    Promise.resolve({
      didEncounterErrors({ errors }) {
        if (carried !== undefined) carried.errors = errors
        return Promise.resolve()
      },
    }),
}

/** Apollo Server looks up documents by the hash of their texts. A short name replaces each text. */
function makeDocumentsUnderWay() {
  const names = new WeakMap<DocumentNode, { name: string; hash: string }>()
  const underWay = new Map<string, { document: DocumentNode; requests: number }>()
  let named = 0

  function nameOf(document: DocumentNode): { name: string; hash: string } {
    let known = names.get(document)
    if (known === undefined) {
      const name = `operation ${(named += 1)}`
      known = { name, hash: createHash('sha256').update(name).digest('hex') }
      names.set(document, known)
    }
    return known
  }

  return {
    begin(document: DocumentNode): { name: string; release(): void } {
      const { name, hash } = nameOf(document)
      const entry = underWay.get(hash) ?? { document, requests: 0 }
      entry.requests += 1
      underWay.set(hash, entry)
      return {
        name,
        release() {
          entry.requests -= 1
          if (entry.requests === 0) underWay.delete(hash)
        },
      }
    },
    store: {
      // The key is the schema's key, a colon and the hash.
      get: (key: string) => Promise.resolve(underWay.get(key.slice(key.lastIndexOf(':') + 1))?.document),
      set: () => Promise.resolve(),
      delete: () => Promise.resolve(false),
    },
  }
}
