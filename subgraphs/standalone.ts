/**
 * Runs one subgraph alone, on Apollo Server, so that any supergraph can be composed with it. It serves the same schema
 * object that the gateway runs in its process; who asks is found out by the function given, as there. Apollo Server answers
 * GraphQL; Fastify has the socket, so that sizes, broken bodies and the operators' routes are as on the gateway.
 */
import { ApolloServer, HeaderMap, type ApolloServerPlugin, type HTTPGraphQLRequest } from '@apollo/server'
import { unwrapResolverError } from '@apollo/server/errors'
import { ApolloServerPluginInlineTrace } from '@apollo/server/plugin/inlineTrace'
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { DocumentNode, GraphQLError, GraphQLSchema } from 'graphql'
import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { ERRORS, TidemarkError, isTidemarkError, publicMessage } from '../core/errors.ts'

export type StandaloneOptions = {
  host: string
  /** 0 picks a free one. */
  port: number
  /** In production errors that are nobody's fault but ours say no more than that. */
  production: boolean
  /** Refuses operations that cost too much. */
  judge: (document: DocumentNode, operationName: string | undefined) => readonly GraphQLError[]
  /** Bytes a request body may have. */
  bodyBytesMax: number
  /** Adds what else this address answers: health checks, metrics. */
  addRoutes?: (app: FastifyInstance) => void
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
    // Routers that trace ask for timings by a header; what errors say is masked there. Named here, or it announces itself.
    plugins: [ApolloServerPluginInlineTrace(), degradedPlugin<Context>(), limitsPlugin<Context>(options.judge)],
    formatError(formatted, error) {
      const cause = unwrapResolverError(error)
      if (isTidemarkError(cause)) {
        const message = publicMessage(cause)
        if (message !== cause.message) onError(cause)
        return { ...formatted, message, extensions: { code: cause.code } }
      }
      const code = formatted.extensions?.['code']
      if (code !== 'INTERNAL_SERVER_ERROR') return formatted
      onError(cause)
      const message = options.production ? "internal error, see the server's log" : formatted.message
      return { ...formatted, message, extensions: { code: 'INTERNAL' } }
    },
  })
  await server.start()
  const app = Fastify({ bodyLimit: options.bodyBytesMax, logger: false, exposeHeadRoutes: false, forceCloseConnections: 'idle' })
  app.setErrorHandler((error: FastifyError, _request, reply) => refuse(reply, refusalOf(error, options)))
  app.setNotFoundHandler((_request, reply) =>
    refuse(reply, new TidemarkError('BAD_REQUEST', 'there is nothing here: the API is at /'), 404),
  )
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    // Before GraphQL begins: who may not come in is told so by the status as well.
    const context = await makeContext(request.headers)
    const answered = await server.executeHTTPGraphQLRequest({
      httpGraphQLRequest: requestOf(request),
      context: () => Promise.resolve(context),
    })
    reply.code(answered.status ?? 200).headers(Object.fromEntries(answered.headers))
    return reply.send(answered.body.kind === 'complete' ? answered.body.string : Readable.from(answered.body.asyncIterator))
  }
  for (const url of ['/', '/graphql']) app.all(url, answer)
  options.addRoutes?.(app)
  const url = await listen(app, options)
  return {
    url,
    async stop() {
      await app.close()
      await server.stop()
    },
  }
}

function requestOf({ method, headers, url, body }: FastifyRequest): HTTPGraphQLRequest {
  const map = new HeaderMap()
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) map.set(name, Array.isArray(value) ? value.join(', ') : value)
  const at = url.indexOf('?')
  return { method, headers: map, search: at < 0 ? '' : url.slice(at), body }
}

/** What is wrong with a request before it is GraphQL, in our words. */
function refusalOf(error: FastifyError, { bodyBytesMax }: StandaloneOptions): TidemarkError {
  if (isTidemarkError(error)) return error
  if (error.statusCode === 413)
    return new TidemarkError('BODY_TOO_LARGE', `the body is larger than ${bodyBytesMax} bytes: send less at once`)
  if (error.statusCode === 415) return new TidemarkError('BAD_REQUEST', 'the body is not JSON: send content-type: application/json')
  if ((error.statusCode ?? 500) < 500)
    return new TidemarkError('BAD_REQUEST', 'the body is not valid JSON: send a JSON object with "query"')
  throw error
}

function refuse(reply: FastifyReply, error: TidemarkError, status: number = ERRORS[error.code].status): FastifyReply {
  const { message, extensions } = error
  return reply
    .code(status)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ errors: [{ message, extensions }] }))
}

async function listen(app: FastifyInstance, { host, port }: StandaloneOptions): Promise<string> {
  try {
    return `${await app.listen({ host, port })}/`
  } catch (cause) {
    const sentence = `cannot listen on ${host}:${port} (${(cause as Error).message}): choose another --port or --host`
    throw new TidemarkError('CONFIG_INVALID', sentence, { cause })
  }
}

/** Representations one call may carry. A gateway sends what one page of a client needs. */
const REPRESENTATIONS_MAX = 1_000

function limitsPlugin<Context extends object>(judge: StandaloneOptions['judge']): ApolloServerPlugin<Context> {
  return {
    requestDidStart: () =>
      Promise.resolve({
        didResolveOperation({ document, operation, request }) {
          if (operation?.operation === 'subscription')
            throw new TidemarkError('BAD_REQUEST', 'this address serves no subscriptions: use the gateway')
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
