/**
 * Is this process alive, and may it get traffic? Two questions: `/health/live` asks only whether the event loop runs, so
 * that a broken store never makes an orchestrator kill healthy processes; `/health/ready` asks the stores, and says no
 * while the process drains, so that a load balancer looks elsewhere.
 */
import type { FastifyInstance } from 'fastify'
import type { Log } from '../request/error-format.ts'

type Words = Readonly<Record<string, string>>
/** `stores`: a word per store: "ok", or what is wrong. `tenants`: the same of each business that has stores of its own. */
export type Readiness = {
  readonly ok: boolean
  readonly stores: Words
  readonly tenants?: Readonly<Record<string, Readonly<Record<string, string | false>>>>
  /** False while a store is full: the process answers reads and refuses writes with STORE_FULL. Absent otherwise; the same of a tenant. */
  readonly writes?: false
  /** Names of findings that may lose data; see config/store-findings.ts. */
  readonly warnings?: readonly string[]
}

/** The paths for operators, and their methods. */
export const HEALTH_PATHS = { '/health/live': ['GET', 'HEAD'], '/health/ready': ['GET', 'HEAD'], '/metrics': ['GET', 'HEAD'] } as const

export function addHealthRoutes(app: FastifyInstance, ready: () => Promise<Readiness>, draining: () => boolean, log: Log): void {
  app.get('/health/live', { exposeHeadRoute: true }, (_request, reply) => reply.type('application/json; charset=utf-8').send('{"ok":true}'))

  // A check that fails is a no. Why it failed is for the log: this route is open to anybody.
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
