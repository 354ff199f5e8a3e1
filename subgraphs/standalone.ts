/**
 * Runs one subgraph alone, on Apollo Server, so that any supergraph can be composed with it. It serves the same schema
 * object that the gateway runs in its process; who asks is found out by the function given, as there.
 */
import { ApolloServer, type ApolloServerPlugin } from '@apollo/server'
import { startStandaloneServer } from '@apollo/server/standalone'
import { unwrapResolverError } from '@apollo/server/errors'
import type { GraphQLSchema } from 'graphql'
import type { IncomingHttpHeaders } from 'node:http'
import { isTidemarkError } from '../core/errors.ts'

export type StandaloneOptions = {
  host: string
  /** 0 picks a free one. */
  port: number
  /** In production errors that are nobody's fault but ours say no more than that. */
  production: boolean
}

export type Standalone = { url: string; stop(): Promise<void> }

/**
 * `makeContext` makes what a request brings along, from its headers; it rejects where these are wrong. What resolvers note in
 * its `degraded` the client is told.
 */
export async function startStandalone<Context extends object & { degraded?: ReadonlySet<string> }>(
  schema: GraphQLSchema,
  makeContext: (headers: IncomingHttpHeaders) => Promise<Context>,
  options: StandaloneOptions,
  onError: (error: unknown) => void,
): Promise<Standalone> {
  const server = new ApolloServer<Context>({
    schema,
    introspection: true,
    includeStacktraceInErrorResponses: false,
    stopOnTerminationSignals: false,
    plugins: [degradedPlugin<Context>()],
    formatError(formatted, error) {
      const cause = unwrapResolverError(error)
      if (isTidemarkError(cause)) return { ...formatted, message: cause.message, extensions: { code: cause.code } }
      const code = formatted.extensions?.['code']
      if (code !== 'INTERNAL_SERVER_ERROR') return formatted
      onError(cause)
      const message = options.production ? "internal error, see the server's log" : formatted.message
      return { ...formatted, message, extensions: { code: 'INTERNAL' } }
    },
  })
  const { url } = await startStandaloneServer(server, {
    context: ({ req }) => makeContext(req.headers),
    listen: { host: options.host, port: options.port },
  })
  return { url, stop: () => server.stop() }
}

/** Says in `extensions.degraded` which stores the answer had to do without. */
function degradedPlugin<Context extends object & { degraded?: ReadonlySet<string> }>(): ApolloServerPlugin<Context> {
  return {
    requestDidStart: () =>
      Promise.resolve({
        willSendResponse({ contextValue, response }) {
          const { degraded } = contextValue
          if (degraded !== undefined && degraded.size > 0 && response.body.kind === 'single') {
            const result = response.body.singleResult
            result.extensions = { ...result.extensions, degraded: [...degraded] }
          }
          return Promise.resolve()
        },
      }),
  }
}
