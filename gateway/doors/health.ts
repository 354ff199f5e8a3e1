/**
 * The health checks. `/health/live` checks only that the event loop runs, so that an orchestrator never kills healthy processes because a
 * store is down. `/health/ready` checks the stores. It also answers 503 while the process drains, so that a load balancer sends requests to
 * other processes.
 */
import type { FastifyInstance } from 'fastify'
import type { Log } from '../request/error-format.ts'

type Words = Readonly<Record<string, string>>
/** `stores`: "ok" or the failure, per store. `tenants`: the same for each business with its own stores. */
export type Readiness = {
  readonly ok: boolean
  readonly stores: Words
  readonly tenants?: Readonly<Record<string, Readonly<Record<string, string | false>>>>
  /** False while a store is full: the process answers reads and refuses writes with STORE_FULL. Otherwise absent. A tenant has it too. */
  readonly writes?: false
  /** Names of findings that may lose data; see config/store-findings.ts. */
  readonly warnings?: readonly string[]
  /** The live version that the process runs, and a hash of its settings. `refused`: a newer one is not valid here, or cannot be read. */
  readonly config?: { readonly version: number; readonly hash: string; readonly refused?: true }
}

/** The paths for operators, and their methods. */
export const HEALTH_PATHS = { '/health/live': ['GET', 'HEAD'], '/health/ready': ['GET', 'HEAD'], '/metrics': ['GET', 'HEAD'] } as const

export function addHealthRoutes(app: FastifyInstance, ready: () => Promise<Readiness>, draining: () => boolean, log: Log): void {
  app.get('/health/live', { exposeHeadRoute: true }, (_request, reply) => reply.type('application/json; charset=utf-8').send('{"ok":true}'))

  // If the check fails, the process is not ready. The reason goes to the log only, because this route is public.
  const notReady = (error: unknown): Readiness => {
    log.error({ err: error }, 'the readiness check failed')
    return { ok: false, stores: {} }
  }
  app.get('/health/ready', { exposeHeadRoute: true }, async (_request, reply) => {
    const readiness = draining() ? { ok: false, draining: true, stores: {} } : await ready().catch(notReady)
    return reply
      .code(readiness.ok ? 200 : 503)
      .header('cache-control', 'no-store')
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(readiness))
  })
}
