/**
 * Runs one subgraph alone, on Apollo Server, so that any supergraph can be composed with it. It serves the same schema
 * object that the gateway runs in its process; who asks is found out by the function given, as there.
 */
import { ApolloServer, type ApolloServerPlugin } from '@apollo/server'
import { ApolloServerPluginInlineTraceDisabled } from '@apollo/server/plugin/disabled'
import { startStandaloneServer } from '@apollo/server/standalone'
import { unwrapResolverError } from '@apollo/server/errors'
import type { DocumentNode, GraphQLError, GraphQLSchema } from 'graphql'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:net'
import { TidemarkError, isTidemarkError } from '../core/errors.ts'

export type StandaloneOptions = {
  host: string
  /** 0 picks a free one. */
  port: number
  /** In production errors that are nobody's fault but ours say no more than that. */
  production: boolean
  /** Refuses operations that cost too much. */
  judge: (document: DocumentNode, operationName: string | undefined) => readonly GraphQLError[]
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
    plugins: [ApolloServerPluginInlineTraceDisabled(), degradedPlugin<Context>(), limitsPlugin<Context>(options.judge)],
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
  await assertAddressFree(options)
  const { url } = await startStandaloneServer(server, {
    context: ({ req }) => makeContext(req.headers),
    listen: { host: options.host, port: options.port },
  })
  return { url, stop: () => server.stop() }
}

/** Representations one call may carry. A gateway sends what one page of a client needs. */
const REPRESENTATIONS_MAX = 1_000

function limitsPlugin<Context extends object>(judge: StandaloneOptions['judge']): ApolloServerPlugin<Context> {
  return {
    requestDidStart: () =>
      Promise.resolve({
        didResolveOperation({ document, request }) {
          const [refusal] = judge(document, request.operationName ?? undefined)
          if (refusal !== undefined) throw refusal
          for (const value of Object.values(request.variables ?? {})) {
            if (!Array.isArray(value) || value.length <= REPRESENTATIONS_MAX) continue
            throw new TidemarkError('IDS_TOO_MANY', `a list of ${value.length} is too long: send at most ${REPRESENTATIONS_MAX} per call`)
          }
          return Promise.resolve()
        },
      }),
  }
}

/** Apollo's own start does not say that an address is taken: it ends the process. */
function assertAddressFree({ host, port }: StandaloneOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (cause) =>
      reject(
        new TidemarkError('CONFIG_INVALID', `cannot listen on ${host}:${port} (${cause.message}): choose another --port or --host`, {
          cause,
        }),
      ),
    )
    probe.listen({ host, port }, () => probe.close(() => resolve()))
  })
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
