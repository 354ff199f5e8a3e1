/** What a process that serves no requests still answers: health and metrics. */
import Fastify from 'fastify'
import type { Registry } from '@prometheus-io/client'
import type { Logger } from 'pino'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { addHealthRoutes } from '../gateway/health.ts'
import type { OpenStores } from '../stores/open.ts'
import { readiness } from './readiness.ts'

export function serveOperators(
  config: Config,
  stores: OpenStores,
  registry: Registry,
  log: Logger,
): { listen(): Promise<string>; close(): Promise<void> } {
  const app = Fastify({ logger: false, forceCloseConnections: true })
  let draining = false
  addHealthRoutes(
    app,
    () => readiness(stores, systemClock),
    () => draining,
    log,
  )
  app.get('/metrics', async (_, reply) => reply.type(registry.contentType).send(await registry.metrics()))
  return {
    listen: () => app.listen({ host: config.server.host, port: config.server.port }),
    async close() {
      draining = true
      await app.close()
    },
  }
}
