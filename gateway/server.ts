/**
 * The gateway's front: GraphQL over HTTP, SSE and WebSocket on `/graphql`, GraphiQL in development, health and metrics.
 * What is wrong with a request ends here; what an operation means is the engine's.
 *
 * A shutdown goes in an order: no new connections and "not ready" first; then streams and sockets are sent away (their
 * clients connect again, elsewhere); requests in flight are answered, up to `drainMaxMs`; what is left is cut.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { systemClock, type Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { TidemarkError, isTidemarkError } from '../core/errors.ts'
import type { Engine } from './engine.ts'
import { makeCors, makeOriginCheck, type CorsOptions } from './cors.ts'
import { textOf } from './body.ts'
import { refuseConnection, timeouts } from './slow-clients.ts'
import { makeFastLane, writeAnswer } from './fast-lane.ts'
import { makeFront, type Collaborators } from './front.ts'
import { makeGraphiql } from './graphiql.ts'
import { addHealthRoutes } from './health.ts'
import { JSON_TYPE, negotiate } from './accept.ts'
import { makeHttp, refusal, type Answer, type HttpOptions } from './http.ts'
import { OPERATION_PATH, type HttpRequest } from './parameters.ts'
import { makeSse } from './sse.ts'
import { serveWebSockets } from './websocket.ts'

export const GRAPHQL_PATH = '/graphql'

export type ServerOptions = Pick<Config['server'], 'host' | 'port' | 'mode' | 'bodyBytesMax' | 'drainMaxMs'> &
  HttpOptions & {
    /** Milliseconds between two signs of life on a quiet WebSocket or event stream. Default 12000. */
    readonly pingEveryMs?: number
    /** What the subscriptions of one WebSocket may cost together. Default: anything. */
    readonly subscriptionsCostMax?: number
    /** Web pages of which origins may call the API; absent: none. */
    readonly cors?: CorsOptions | undefined
    /** Milliseconds a client may take to send a request; a third of them for its headers. Default 30000. */
    readonly requestMaxMs?: number
  }

export type GatewayServer = {
  /** Resolves when requests are accepted. CONFIG_INVALID if the address cannot be had. */
  listen(): Promise<{ readonly url: string }>
  /** Drains; see above. Resolves when the last connection is gone. */
  close(): Promise<void>
}

/** Milliseconds an idle connection is kept. More than load balancers keep theirs (60 s), so that they close first. */
const KEEP_ALIVE_MS = 72_000
/** Milliseconds the last connections get to close by themselves. */
const LINGER_MS = 250

export function makeServer(
  engine: Engine,
  options: ServerOptions,
  collaborators: Collaborators,
  clock: Clock = systemClock,
): GatewayServer {
  const { mode, bodyBytesMax, drainMaxMs, pingEveryMs = 12_000, requestMaxMs = 30_000 } = options
  let state: 'open' | 'draining' = 'open'
  const draining = () => state === 'draining'
  const inFlight = new Set<ServerResponse>()
  let whenIdle = () => {}

  const front = makeFront(engine, mode, collaborators)
  const http = makeHttp(front, options)
  const sse = makeSse(front, { pingEveryMs })
  const cors = options.cors === undefined ? undefined : makeCors(options.cors)
  const fastLane = makeFastLane(serve, { path: GRAPHQL_PATH, bodyBytesMax })

  const app = Fastify({
    bodyLimit: bodyBytesMax,
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 1_000 },
    clientErrorHandler: refuseConnection,
    serverFactory: (route) =>
      createServer({ ...timeouts(requestMaxMs), keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
        track(response)
        if (cors?.(request, response) === true) return
        if (!fastLane(request, response)) route(request, response)
      }),
  })
  const isAllowed = mode === 'development' ? makeOriginCheck(options.cors?.origins ?? []) : undefined
  const webSockets = serveWebSockets(app.server, engine, front, {
    path: GRAPHQL_PATH,
    messageBytesMax: bodyBytesMax,
    pingEveryMs,
    subscriptionsCostMax: options.subscriptionsCostMax,
    isAllowed,
  })

  function track(response: ServerResponse): void {
    inFlight.add(response)
    response.once('close', () => {
      inFlight.delete(response)
      if (inFlight.size === 0) whenIdle()
    })
  }

  /** Answers one request to the API, in whichever way it asks for. Never rejects. */
  async function serve(request: HttpRequest, response: ServerResponse): Promise<void> {
    try {
      if (draining()) {
        response.setHeader('connection', 'close')
        return writeAnswer(response, SHUTTING_DOWN)
      }
      const wanted = negotiate(request.headers.accept)
      if (!wanted.streamFirst) {
        const answer = await http(request)
        if (answer.subscription === undefined || !wanted.stream) return writeAnswer(response, answer)
      }
      const opened = await sse.open(request)
      if (typeof opened !== 'function') return writeAnswer(response, opened)
      await opened(response)
    } catch (error) {
      const answer = failureOf(error)
      if (response.headersSent) response.destroy()
      else writeAnswer(response, answer)
    }
  }

  function failureOf(error: unknown): Answer {
    const known = requestErrorOf(error, bodyBytesMax)
    if (known !== undefined) return refusal(known, JSON_TYPE)
    return { status: 500, contentType: JSON_TYPE, body: JSON.stringify({ errors: [front.formatError(error, 'request')] }) }
  }

  // Bodies stay text: the media type decides later who reads them, and how.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    const body = textOf(bytes, request.headers)
    if (typeof body === 'string') done(null, body)
    else done(body)
  })

  const graphiql = mode === 'development' ? makeGraphiql(GRAPHQL_PATH) : undefined
  app.all(GRAPHQL_PATH, async (request, reply) => {
    if (graphiql !== undefined && wantsPage(request)) return sendPage(request, reply, graphiql)
    reply.hijack()
    const { method, url, headers, body } = request
    return serve({ method, url, headers, body: typeof body === 'string' ? body : '', address: request.socket.remoteAddress }, reply.raw)
  })
  app.all<{ Params: { id: string } }>(`${OPERATION_PATH}:id`, async ({ method, url, headers, body, params, socket }, reply) => {
    reply.hijack()
    const text = typeof body === 'string' ? body : ''
    return serve({ method, url, headers, body: text, address: socket.remoteAddress, pathId: params.id }, reply.raw)
  })
  if (graphiql !== undefined) {
    app.get('/', (request, reply) => (wantsPage(request) ? sendPage(request, reply, graphiql) : sendNotFound(reply)))
  }
  addHealthRoutes(app, () => collaborators.ready(), draining, collaborators.log)
  app.get('/metrics', async (_request, reply) => {
    const { contentType, text } = await front.metrics.render(collaborators.metricsOfAll)
    return reply.type(contentType).send(text)
  })
  app.setNotFoundHandler((_request, reply) => sendNotFound(reply))
  app.setErrorHandler((error, _request, reply) => sendAnswer(reply, failureOf(error)))

  async function listen(): Promise<{ readonly url: string }> {
    try {
      await app.listen({ host: options.host, port: options.port })
    } catch (error) {
      throw listenErrorOf(error, options)
    }
    return { url: urlOf(app, options.host) }
  }

  let closed: Promise<void> | undefined
  async function drain(): Promise<void> {
    state = 'draining'
    const idle = new Promise<void>((resolve) => (whenIdle = resolve))
    const socketsClosed = webSockets.drain()
    sse.endAll()
    const serverClosed = app.close()
    await withDeadline(Promise.all([inFlight.size === 0 ? undefined : idle, socketsClosed]), drainMaxMs, clock)
    if (inFlight.size > 0) collaborators.log.warn({ requests: inFlight.size }, 'requests were cut: they took longer than server.drainMaxMs')
    for (const response of inFlight) response.destroy()
    webSockets.terminate()
    // What the last answers were sent on is idle now. A connection cut at once could lose an answer that is on its way.
    app.server.closeIdleConnections()
    await withDeadline(serverClosed, LINGER_MS, clock)
    app.server.closeAllConnections()
    await serverClosed
  }

  return { listen, close: () => (closed ??= drain()) }
}

/** Resolves when `work` does, or after `deadlineMs`. */
function withDeadline(work: Promise<unknown>, deadlineMs: number, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const deadline = clock.after(deadlineMs, resolve)
    void work.then(() => {
      deadline.cancel()
      resolve()
    })
  })
}

const SHUTTING_DOWN = refusal(new TidemarkError('SHUTTING_DOWN', 'this process drains: send the request again'), JSON_TYPE)

function sendAnswer(reply: FastifyReply, answer: Answer): FastifyReply {
  if (answer.headers !== undefined) reply.headers(answer.headers)
  return reply.code(answer.status).header('content-type', answer.contentType).send(answer.body)
}

function sendNotFound(reply: FastifyReply): FastifyReply {
  const error = new TidemarkError(
    'BAD_REQUEST',
    `there is nothing here: the API is at ${GRAPHQL_PATH}, health at /health/live and /health/ready, metrics at /metrics`,
  )
  return sendAnswer(reply, { ...refusal(error, JSON_TYPE), status: 404 })
}

function wantsPage(request: FastifyRequest): boolean {
  return request.method === 'GET' && request.headers.accept?.includes('text/html') === true
}

async function sendPage(request: FastifyRequest, reply: FastifyReply, graphiql: ReturnType<typeof makeGraphiql>): Promise<FastifyReply> {
  const { html, compressed } = await graphiql()
  const gzip = /\bgzip\b/.test(String(request.headers['accept-encoding']))
  reply.type('text/html; charset=utf-8').header('vary', 'accept, accept-encoding')
  return gzip ? reply.header('content-encoding', 'gzip').send(compressed) : reply.send(html)
}

/** What Fastify found wrong with a request before any route saw it. */
function requestErrorOf(error: unknown, bodyBytesMax: number): TidemarkError | undefined {
  if (isTidemarkError(error)) return error
  const { code, statusCode, message } = error as { code?: unknown; statusCode?: unknown; message?: unknown }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new TidemarkError(
      'BODY_TOO_LARGE',
      `the body has more than ${bodyBytesMax} bytes: send less at a time, or raise server.bodyBytesMax`,
    )
  }
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode > 499) return undefined
  return new TidemarkError('BAD_REQUEST', `the request is malformed: ${String(message)}`)
}

function listenErrorOf(error: unknown, { host, port }: Pick<ServerOptions, 'host' | 'port'>): unknown {
  const code = (error as { code?: unknown }).code
  const reason = typeof code === 'string' ? LISTEN_REASONS[code] : undefined
  return reason === undefined ? error : new TidemarkError('CONFIG_INVALID', `server.port ${port} of ${host} ${reason}`, { cause: error })
}

const LISTEN_REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use: stop what listens there, or choose another with PORT or --port (0 picks a free one)',
  EACCES: 'is not allowed to this user: choose one above 1023 with PORT or --port',
  EADDRNOTAVAIL: 'cannot be had: server.host is not an address of this machine',
  ENOTFOUND: 'cannot be had: server.host is not known; 127.0.0.1 is this machine, 0.0.0.0 all of its addresses',
}

/** Where a client on this machine reaches the server. */
function urlOf(app: FastifyInstance, host: string): string {
  const { port } = app.server.address() as AddressInfo
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}
