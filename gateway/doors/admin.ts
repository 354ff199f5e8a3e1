/**
 * What operators read: metrics, health, and the console. By default these routes are on the listener of the API. With `server.admin` they
 * have a listener of their own, which can be bound to an address that clients do not reach. Health checks are on both, because a load
 * balancer asks the port that it sends requests to.
 */
import type { FastifyInstance } from 'fastify'
import { addConsoleRoutes, CONSOLE_STATE_PATH, CONSOLE_VIEWER_PATH } from '../pages/console-routes.ts'
import { addPageRoutes, PAGE_PATHS, type PageName } from '../pages/routes.ts'
import type { Collaborators, Front } from '../request/front.ts'
import { JSON_TYPE } from './accept.ts'
import { refusal, writeAnswer } from './answers.ts'
import { hostRefused, type IsKnownHost } from './browsers/hosts.ts'
import { addHealthRoutes, HEALTH_PATHS } from './health.ts'
import { listenErrorOf } from './listen-error.ts'
import { makeApp, type FailureOf } from './request-errors.ts'
import { addMetricsRoute } from './routes.ts'

/** The methods of the operators' paths, as `makeApp` wants them. */
export type Paths = Readonly<Record<string, readonly string[]>>

const { '/metrics': METRICS_METHODS, ...HEALTH_ONLY } = HEALTH_PATHS
export const HEALTH_ONLY_PATHS: Paths = HEALTH_ONLY
const METRICS_PATHS: Paths = { '/metrics': METRICS_METHODS }

export function operatorPaths(pages: readonly PageName[]): Paths {
  const read = ['GET', 'HEAD']
  return pages.includes('console')
    ? { ...METRICS_PATHS, [PAGE_PATHS.console]: read, [CONSOLE_STATE_PATH]: read, [CONSOLE_VIEWER_PATH]: read }
    : METRICS_PATHS
}

/** `pages`: if they have the console, it is added with its data. */
export function addOperatorPages(app: FastifyInstance, front: Front, collaborators: Collaborators, pages: readonly PageName[]): void {
  addMetricsRoute(app, front.metrics, collaborators.metricsOfAll)
  if (pages.includes('console') && collaborators.console !== undefined) addConsoleRoutes(app, front, collaborators.console)
}

export type Admin = { listen(): Promise<void>; close(): Promise<void> }

export const NO_ADMIN: Admin = { listen: () => Promise.resolve(), close: () => Promise.resolve() }

/** `isOpen`: false while the process drains. `isKnownHost` absent: all hosts are answered. */
export function makeAdmin(
  { host, port }: { readonly host: string; readonly port: number },
  front: Front,
  collaborators: Collaborators,
  pages: readonly PageName[],
  { isKnownHost, isOpen, bodyBytesMax }: { isKnownHost: IsKnownHost | undefined; isOpen: () => boolean; bodyBytesMax: number },
  failureOf: FailureOf,
): Admin {
  const paths = { ...operatorPaths(pages), ...HEALTH_ONLY_PATHS }
  const advice = `metrics are at /metrics, health at /health/live and /health/ready${pages.length === 0 ? '' : ', the console at /console'}; the API has another port`
  const app = makeApp({ forceCloseConnections: true }, { paths, advice, bodyBytesMax }, failureOf)
  app.addHook('onRequest', (request, reply, done) => {
    if (isKnownHost?.(request.headers.host) !== false) return done()
    reply.hijack()
    writeAnswer(reply.raw, refusal(hostRefused(request.headers.host), JSON_TYPE))
  })
  addHealthRoutes(
    app,
    () => collaborators.ready(),
    () => !isOpen(),
    collaborators.log,
  )
  addOperatorPages(app, front, collaborators, pages)
  addPageRoutes(app, pages, () => false)
  return {
    async listen() {
      try {
        const url = await app.listen({ host, port })
        collaborators.log.info({ url }, 'metrics, health and the console have a separate listener')
      } catch (error) {
        throw listenErrorOf(error, { host, port }, 'server.admin')
      }
    },
    close: () => app.close(),
  }
}
