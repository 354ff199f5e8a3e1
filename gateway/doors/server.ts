/**
 * The gateway's front: GraphQL over HTTP, SSE and WebSocket on `/graphql`, GraphiQL in development, health and metrics. The front handles
 * errors of requests; the engine handles operations.
 */
import type { IncomingMessage, RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { systemClock, type Clock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import type { Engine } from '../operation/engine.ts'
import { makeAccessLog } from './access-log.ts'
import { addOperatorPages, HEALTH_ONLY_PATHS, makeAdmin, NO_ADMIN, operatorPaths } from './admin.ts'
import { compressReplies, makeCompression } from './compression.ts'
import { makeCors, type CorsOptions } from './browsers/cors.ts'
import { drain } from './drain.ts'
import { makeGraphiql } from '../pages/graphiql.ts'
import { addPageRoutes, PAGE_PATHS, type PageName } from '../pages/routes.ts'
import { addHealthRoutes } from './health.ts'
import { hostRefused, makeHostCheck } from './browsers/hosts.ts'
import { makeHttp, type HttpOptions } from './http.ts'
import { makeInFlight } from './in-flight.ts'
import { listenErrorOf } from './listen-error.ts'
import { makeOriginCheck, originRefused } from './browsers/origins.ts'
import { makeApp, makeFailureOf } from './request-errors.ts'
import { makeRequestHandler } from './request-handler.ts'
import { makeRequestListener } from './request-listener.ts'
import { addApiRoutes, holdReplies } from './routes.ts'
import { addSchemaRoute, type SchemaFileOptions } from './schema-file.ts'
import { timeouts } from './slow-clients.ts'
import { makeSse } from './sse.ts'
import { serveWebSockets, type WebSockets } from './websocket/serve.ts'
import { makeFront, type Collaborators } from '../request/front.ts'

// An import of node:http reads all of its exports, and `WebSocket` among them loads the whole client behind `fetch`: 6% of a start.
const { createServer } = process.getBuiltinModule('node:http')

export const GRAPHQL_PATH = '/graphql'
export const SCHEMA_PATH = `${GRAPHQL_PATH}/schema.graphql`

export type ServerOptions = Pick<Config['server'], 'host' | 'port' | 'mode' | 'bodyBytesMax' | 'drainMaxMs'> & {
  /** Milliseconds. Default 0. */
  readonly drainDelayMs?: number | undefined
} & HttpOptions &
  SchemaFileOptions & {
    /** Milliseconds between two pings on a quiet WebSocket or event stream. Default 12000. */
    readonly pingEveryMs?: number
    /** The total cost that the subscriptions of one WebSocket may have. Default: unlimited. */
    readonly subscriptionsCostMax?: number
    /** The origins of the web pages that may call the API. Absent: none in production, those of origins.ts in development. */
    readonly cors?: CorsOptions | undefined
    /** Further host names that a process in development answers; see hosts.ts. Default: empty. */
    readonly hosts?: readonly string[]
    /** Milliseconds that a client may take to send a request, a third of them for its headers. Default 30000. */
    readonly requestMaxMs?: number
    /** The minimum size of an answer that is compressed, in bytes, or 'off'. Default 1024. */
    readonly compressFromBytes?: Config['server']['compressFromBytes']
    /** Whether the API is also at /, where gateways expect a subgraph. Default false. */
    readonly atRoot?: boolean
    /** Default true. */
    readonly webSockets?: boolean
    /** Default: none. */
    readonly pages?: readonly PageName[] | undefined
    /** The listener of metrics and the console. Default: that of the API. */
    readonly admin?: Config['server']['admin']
    /** Default false. */
    readonly accessLog?: boolean
  }

export type GatewayServer = {
  /** Resolves when requests are accepted. Rejects with CONFIG_INVALID if the address cannot be used. */
  listen(): Promise<{ readonly url: string }>
  /** Drains; see drain.ts. Resolves when the last connection is gone. */
  close(): Promise<void>
}

/** Milliseconds an idle connection is kept. Load balancers keep theirs for 60 s, so they close first. */
const KEEP_ALIVE_MS = 72_000
export function makeServer(
  engine: Engine,
  options: ServerOptions,
  collaborators: Collaborators,
  clock: Clock = systemClock,
): GatewayServer {
  const { mode, bodyBytesMax, drainMaxMs, drainDelayMs = 0, pingEveryMs = 12_000, requestMaxMs = 30_000 } = options
  const { log } = collaborators
  const apiPaths = options.atRoot === true ? [GRAPHQL_PATH, '/'] : [GRAPHQL_PATH]
  const isKnownHost = mode === 'development' ? makeHostCheck([options.host, ...(options.hosts ?? [])]) : undefined
  const cors = makeCors(options.cors, mode, log)
  const accessLog = options.accessLog === true ? makeAccessLog(log) : undefined

  const inFlight = makeInFlight()
  const front = makeFront(engine, mode, collaborators)
  const sse = makeSse(front, { pingEveryMs })
  const failureOf = makeFailureOf(front.formatError, bodyBytesMax)
  const compression = makeCompression(options.compressFromBytes ?? 1_024, collaborators.registry)
  const handle = makeRequestHandler(front, makeHttp(front, options), sse, compression, inFlight, failureOf)

  // Clients that offer another protocol (h2c) are answered in HTTP/1.1.
  const shouldUpgradeCallback = ({ headers }: IncomingMessage): boolean =>
    options.webSockets !== false && headers.upgrade?.toLowerCase() === 'websocket'
  const nodeOptions = { ...timeouts(requestMaxMs), keepAliveTimeout: KEEP_ALIVE_MS, requireHostHeader: false, shouldUpgradeCallback }
  const routing = {
    return503OnClosing: false,
    serverFactory: (route: RequestListener) =>
      createServer(
        nodeOptions,
        makeRequestListener(front, inFlight, { isKnownHost, cors, accessLog }, { path: GRAPHQL_PATH, bodyBytesMax }, handle, route),
      ),
  }
  const { admin } = options
  const pages = (options.pages ?? []).filter((page) => page !== 'console' || admin === undefined)
  const operatorPages = (options.pages ?? []).filter((page) => page === 'console')
  const paths = {
    ...Object.fromEntries(pages.map((page) => [PAGE_PATHS[page], ['GET', 'HEAD']])),
    ...Object.fromEntries(apiPaths.map((path) => [path, ['GET', 'POST']])),
    [SCHEMA_PATH]: ['GET', 'HEAD'],
    ...(admin === undefined ? operatorPaths(operatorPages) : {}),
    ...HEALTH_ONLY_PATHS,
  }
  const app = makeApp(routing, { paths, advice: placesWith(pages, admin === undefined), bodyBytesMax }, failureOf)
  compressReplies(app, compression)
  holdReplies(app, front.heldBytes)
  addApiRoutes(app, apiPaths, handle, mode === 'development' ? makeGraphiql(GRAPHQL_PATH) : undefined)
  addSchemaRoute(app, SCHEMA_PATH, engine, options)
  addHealthRoutes(
    app,
    () => collaborators.ready(),
    () => !inFlight.isOpen(),
    log,
  )
  if (admin === undefined) addOperatorPages(app, front, collaborators, operatorPages)
  addPageRoutes(app, pages, (path) => apiPaths.includes(path))
  const operators =
    admin === undefined
      ? NO_ADMIN
      : makeAdmin(admin, front, collaborators, operatorPages, { isKnownHost, isOpen: inFlight.isOpen, bodyBytesMax }, failureOf)

  const isAllowedOrigin = mode === 'development' ? makeOriginCheck(options.cors?.origins ?? [], mode) : undefined
  const webSockets =
    options.webSockets === false
      ? NO_WEB_SOCKETS
      : serveWebSockets(app.server, engine, front, {
          path: GRAPHQL_PATH,
          messageBytesMax: bodyBytesMax,
          pingEveryMs,
          subscriptionsCostMax: options.subscriptionsCostMax,
          underWayCostMax: collaborators.operationCostMax,
          refusePage(origin, host) {
            if (isKnownHost?.(host) === false) return hostRefused(host)
            return isAllowedOrigin?.(origin, host) === false ? originRefused(origin ?? '') : undefined
          },
        })

  async function listen(): Promise<{ readonly url: string }> {
    await operators.listen()
    try {
      await app.listen({ host: options.host, port: options.port })
    } catch (error) {
      throw listenErrorOf(error, options)
    }
    return { url: urlOf(app, options.host) }
  }

  let closed: Promise<void> | undefined
  return {
    listen,
    close: () => (closed ??= drain(app, inFlight, sse, webSockets, log, clock, { drainDelayMs, drainMaxMs }).then(() => operators.close())),
  }
}

const NO_WEB_SOCKETS: WebSockets = { drain: () => Promise.resolve(), terminate: () => undefined }

/** For a caller of an unknown path. */
function placesWith(pages: readonly PageName[], hasMetrics: boolean): string {
  const shown = pages.map((page) => PAGE_PATHS[page]).join(', ')
  return `the API is at ${GRAPHQL_PATH}, its schema at ${SCHEMA_PATH}, health at /health/live and /health/ready${hasMetrics ? ', metrics at /metrics' : ''}${shown === '' ? '' : `, web pages at ${shown}`}`
}

/** The address at which a client on this machine reaches the server. */
function urlOf(app: FastifyInstance, host: string): string {
  const { port } = app.server.address() as AddressInfo
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}
