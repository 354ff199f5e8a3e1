/**
 * Is this process alive, and may it get traffic? Two questions: `/health/live` asks only whether the event loop runs, so
 * that a broken store never makes an orchestrator kill healthy processes; `/health/ready` asks the stores, and says no
 * while the process drains, so that a load balancer looks elsewhere.
 */
import type { FastifyInstance } from 'fastify'

/** `stores`: a word per store: "ok", or what is wrong. */
export type Readiness = { readonly ok: boolean; readonly stores: Readonly<Record<string, string>> }

export function addHealthRoutes(app: FastifyInstance, ready: () => Promise<Readiness>, draining: () => boolean): void {
  app.get('/health/live', (_request, reply) => reply.type('application/json; charset=utf-8').send('{"ok":true}'))

  app.get('/health/ready', async (_request, reply) => {
    const readiness = draining() ? { ok: false, draining: true, stores: {} } : await ready()
    return reply
      .code(readiness.ok ? 200 : 503)
      .header('cache-control', 'no-store')
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(readiness))
  })
}
