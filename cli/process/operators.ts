/** Health and metrics of processes without a gateway: as routes, or as a server of their own if there is no API. */
import type { FastifyInstance } from 'fastify'
import type { Registry } from '@prometheus-io/client'
import type { Logger } from 'pino'
import { systemClock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { makeFormatError } from '../../gateway/request/error-format.ts'
import { addHealthRoutes, HEALTH_PATHS } from '../../gateway/doors/health.ts'
import { makeApp, makeFailureOf } from '../../gateway/doors/request-errors.ts'
import { makeReadiness, type AskedStores } from './readiness.ts'

/** After `drain` the process reports that it is not ready. */
export function addOperatorRoutes(
  app: FastifyInstance,
  { businesses }: Config,
  stores: AskedStores,
  registry: Registry,
  log: Logger,
): { drain(): void } {
  let draining = false
  addHealthRoutes(app, makeReadiness(stores, systemClock, businesses), () => draining, log)
  app.get('/metrics', { exposeHeadRoute: true }, async (_, reply) => reply.type(registry.contentType).send(await registry.metrics()))
  return {
    drain() {
      draining = true
    },
  }
}

export function serveOperators(
  config: Config,
  stores: AskedStores,
  registry: Registry,
  log: Logger,
): { listen(): Promise<string>; close(): Promise<void> } {
  const { mode, bodyBytesMax } = config.server
  const failureOf = makeFailureOf(makeFormatError(mode, log), bodyBytesMax)
  const app = makeApp({ forceCloseConnections: true }, { paths: HEALTH_PATHS, advice: PATHS, bodyBytesMax }, failureOf)
  const operators = addOperatorRoutes(app, config, stores, registry, log)
  return {
    listen: () => app.listen({ host: config.server.host, port: config.server.port }),
    async close() {
      operators.drain()
      await app.close()
    },
  }
}

const PATHS = 'health is at /health/live and /health/ready, metrics at /metrics; a job serves no API'
