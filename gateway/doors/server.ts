/**
 * The gateway's front: GraphQL over HTTP, SSE and WebSocket on `/graphql`, GraphiQL in development, health and metrics. The front handles
 * errors of requests; the engine handles operations.
 *
 * A shutdown has this order:
 *   1. "not ready" for `drainDelayMs`: requests are served as before, each with `connection: close`, so that load balancers and clients
 *      move to another process;
 *   2. no new connections;
 *   3. streams and sockets are closed, and their clients connect elsewhere;
 *   4. requests in flight are answered, up to `drainMaxMs`; the rest is cut.
 */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sleep, systemClock, type Clock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { TidemarkError } from '../../core/errors.ts'
import type { Engine } from '../operation/engine.ts'
import { makeCors, makeOriginCheck, type CorsOptions } from './cors.ts'
import { textOf } from './body.ts'
import { holdBody } from '../limits/held-bytes.ts'
import { timeouts } from './slow-clients.ts'
import { makeFastLane, writeAnswer } from './fast-lane.ts'
import { makeHostCheck, unknownHostSentence } from './hosts.ts'
import { makeFront, type Collaborators } from '../request/front.ts'
import { makeGraphiql } from './graphiql.ts'
import { addHealthRoutes, HEALTH_PATHS } from './health.ts'
import { JSON_TYPE, negotiate } from './accept.ts'
import { listenErrorOf } from './listen-error.ts'
import { isLargeOrUnknown, makeHttp, refusal, refuseUnread, type Answer, type HttpOptions } from './http.ts'
import { OPERATION_PATH, type HttpRequest } from './parameters.ts'
import { badRequest, makeApp } from './request-errors.ts'
import { makeSse } from './sse.ts'
import { serveWebSockets } from './websocket/serve.ts'

export const GRAPHQL_PATH = '/graphql'

export type ServerOptions = Pick<Config['server'], 'host' | 'port' | 'mode' | 'bodyBytesMax' | 'drainMaxMs'> & {
  /** Milliseconds. Default 0. */
  readonly drainDelayMs?: number | undefined
} & HttpOptions & {
    /** Milliseconds between two signs of life on a quiet WebSocket or event stream. Default 12000. */
    readonly pingEveryMs?: number
    /** What the subscriptions of one WebSocket may cost together. Default: anything. */
    readonly subscriptionsCostMax?: number
    /** Web pages of which origins may call the API; absent: none. */
    readonly cors?: CorsOptions | undefined
    /** Further host names that a process in development answers; see hosts.ts. Default: empty. */
    readonly hosts?: readonly string[]
    /** Milliseconds a client may take to send a request; a third of them for its headers. Default 30000. */
    readonly requestMaxMs?: number
    /** Whether the API is also at /: gateways look for a subgraph there. Default false. */
    readonly atRoot?: boolean
    /** Default true. */
    readonly webSockets?: boolean
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
  const { mode, bodyBytesMax, drainMaxMs, drainDelayMs = 0, pingEveryMs = 12_000, requestMaxMs = 30_000 } = options
  let state: 'open' | 'leaving' | 'draining' = 'open'
  const draining = () => state === 'draining'
  const inFlight = new Set<ServerResponse>()
  let whenIdle = () => {}

  const front = makeFront(engine, mode, collaborators)
  const http = makeHttp(front, options)
  const sse = makeSse(front, { pingEveryMs })
  const cors = options.cors === undefined ? undefined : makeCors(options.cors)
  const isKnownHost = mode === 'development' ? makeHostCheck([options.host, ...(options.hosts ?? [])]) : undefined
  const fastLane = makeFastLane(serve, { path: GRAPHQL_PATH, bodyBytesMax })

  // Clients that offer another protocol (h2c) are answered in HTTP/1.1.
  const shouldUpgradeCallback = ({ headers }: IncomingMessage): boolean =>
    options.webSockets !== false && headers.upgrade?.toLowerCase() === 'websocket'
  const apiPaths = options.atRoot === true ? [GRAPHQL_PATH, '/'] : [GRAPHQL_PATH]
  const nodeOptions = { ...timeouts(requestMaxMs), keepAliveTimeout: KEEP_ALIVE_MS, requireHostHeader: false, shouldUpgradeCallback }
  const routing = {
    return503OnClosing: false,
    serverFactory: (route: RequestListener) =>
      createServer(nodeOptions, (request, response) => {
        track(response)
        holdBody(front.heldBytes, request, response, bodyBytesMax)
        const { host } = request.headers
        if (host === undefined && request.httpVersion === '1.1') return writeAnswer(response, NO_HOST)
        if (isKnownHost?.(host) === false) return writeAnswer(response, unknownHost(host))
        if (cors?.(request, response) === true) return
        const read = (): void => {
          if (!fastLane(request, response)) route(request, response)
        }
        if (isLargeOrUnknown(request.headers, bodyBytesMax)) void refuseOr(request, response, read)
        else read()
      }),
  }
  const paths = { ...Object.fromEntries(apiPaths.map((path) => [path, ['GET', 'POST']])), ...HEALTH_PATHS }
  const { app, failureOf } = makeApp(routing, { paths, advice: PATHS, bodyBytesMax }, front.formatError)
  const isAllowedOrigin = mode === 'development' ? makeOriginCheck(options.cors?.origins ?? []) : undefined
  const isAllowed = (origin: string | undefined, host: string | undefined): boolean =>
    isKnownHost?.(host) !== false && isAllowedOrigin?.(origin, host) !== false
  const webSockets =
    options.webSockets === false
      ? NO_WEB_SOCKETS
      : serveWebSockets(app.server, engine, front, {
          path: GRAPHQL_PATH,
          messageBytesMax: bodyBytesMax,
          pingEveryMs,
          subscriptionsCostMax: options.subscriptionsCostMax,
          underWayCostMax: collaborators.operationCostMax,
          isAllowed,
        })

  function track(response: ServerResponse): void {
    inFlight.add(response)
    if (state !== 'open') response.setHeader('connection', 'close')
    response.once('close', () => {
      inFlight.delete(response)
      if (inFlight.size === 0) whenIdle()
    })
  }

  async function refuseOr(request: IncomingMessage, response: ServerResponse, read: () => void): Promise<void> {
    const refused = await refuseUnread(front, request)
    if (refused === undefined) return read()
    writeAnswer(response, refused)
    // Closing would lose the answer for a client that is still sending.
    request.resume()
  }

  /** Answers one request to the API, in whichever way it asks for. Never rejects. */
  async function serve(request: HttpRequest, response: ServerResponse): Promise<void> {
    try {
      if (draining()) {
        response.setHeader('connection', 'close')
        return writeAnswer(response, SHUTTING_DOWN)
      }
      const wanted = negotiate(request.headers.accept)
      const answer = wanted.streamFirst ? undefined : await http(request, response)
      if (answer !== undefined && (answer.subscription === undefined || !wanted.stream)) return writeAnswer(response, answer)
      const opened = await sse.open(request, response, answer?.subscription)
      if (typeof opened !== 'function') return writeAnswer(response, opened)
      await opened(response)
    } catch (error) {
      const answer = failureOf(error)
      if (response.headersSent) response.destroy()
      else writeAnswer(response, answer)
    }
  }

  // Bodies stay text: the media type decides later who reads them, and how.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    const body = textOf(bytes, request.headers)
    if (typeof body === 'string') done(null, body)
    else done(body)
  })

  const graphiql = mode === 'development' ? makeGraphiql(GRAPHQL_PATH) : undefined
  for (const path of apiPaths) {
    app.all(path, async (request, reply) => {
      if (graphiql !== undefined && wantsPage(request)) return sendPage(request, reply, graphiql)
      reply.hijack()
      const { method, url, headers, body } = request
      return serve({ method, url, headers, body: typeof body === 'string' ? body : '', address: request.socket.remoteAddress }, reply.raw)
    })
  }
  app.all<{ Params: { id: string } }>(`${OPERATION_PATH}:id`, async ({ method, url, headers, body, params, socket }, reply) => {
    reply.hijack()
    const text = typeof body === 'string' ? body : ''
    return serve({ method, url, headers, body: text, address: socket.remoteAddress, pathId: params.id }, reply.raw)
  })
  if (graphiql !== undefined && options.atRoot !== true) {
    app.get('/', (request, reply) => (wantsPage(request) ? sendPage(request, reply, graphiql) : reply.callNotFound()))
  }
  addHealthRoutes(
    app,
    () => collaborators.ready(),
    () => state !== 'open',
    collaborators.log,
  )
  app.get('/metrics', { exposeHeadRoute: true }, async (_request, reply) => {
    const { contentType, text } = await front.metrics.render(collaborators.metricsOfAll)
    return reply.type(contentType).send(text)
  })

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
    state = 'leaving'
    for (const response of inFlight) if (!response.headersSent) response.setHeader('connection', 'close')
    if (drainDelayMs > 0) await sleep(clock, Math.min(drainDelayMs, drainMaxMs))
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

const NO_WEB_SOCKETS: ReturnType<typeof serveWebSockets> = { drain: () => Promise.resolve(), terminate: () => undefined }

const SHUTTING_DOWN = refusal(new TidemarkError('SHUTTING_DOWN', 'this process drains: send the request again'), JSON_TYPE)

const NO_HOST = badRequest(400, 'the header "host" is missing: send the name of this server')
const PATHS = `the API is at ${GRAPHQL_PATH}, health at /health/live and /health/ready, metrics at /metrics`

function unknownHost(host = ''): Answer {
  return refusal(new TidemarkError('FORBIDDEN', unknownHostSentence(host)), JSON_TYPE)
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

/** Where a client on this machine reaches the server. */
function urlOf(app: FastifyInstance, host: string): string {
  const { port } = app.server.address() as AddressInfo
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}
