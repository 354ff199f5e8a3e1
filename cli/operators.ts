/** Health and metrics of processes without a gateway: as routes, or served alone where there is no API. */
import Fastify, { type FastifyInstance } from 'fastify'
import type { Registry } from '@prometheus-io/client'
import type { Logger } from 'pino'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { addHealthRoutes } from '../gateway/health.ts'
import { makeReadiness, type AskedStores } from './readiness.ts'

/** After `drain` the process says that it is not ready. */
export function addOperatorRoutes(
  app: FastifyInstance,
  { businesses }: Config,
  stores: AskedStores,
  registry: Registry,
  log: Logger,
): { drain(): void } {
  let draining = false
  addHealthRoutes(app, makeReadiness(stores, systemClock, businesses), () => draining, log)
  app.get('/metrics', async (_, reply) => reply.type(registry.contentType).send(await registry.metrics()))
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
  const app = Fastify({ logger: false, forceCloseConnections: true })
  const operators = addOperatorRoutes(app, config, stores, registry, log)
  return {
    listen: () => app.listen({ host: config.server.host, port: config.server.port }),
    async close() {
      operators.drain()
      await app.close()
    },
  }
}
