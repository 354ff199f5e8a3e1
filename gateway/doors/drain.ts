/**
 * A shutdown has this order:
 *   1. "not ready" for `drainDelayMs`: requests are served as before, each with `connection: close`, so that load balancers and clients
 *      move to another process;
 *   2. no new connections;
 *   3. streams and sockets are closed, and their clients connect elsewhere;
 *   4. requests in flight are answered, up to `drainMaxMs`; the rest is cut.
 */
import type { FastifyInstance } from 'fastify'
import { sleep, type Clock } from '../../core/clock.ts'
import type { Log } from '../request/error-format.ts'
import type { InFlight } from './in-flight.ts'
import type { Sse } from './sse.ts'
import type { WebSockets } from './websocket/serve.ts'

export type DrainOptions = {
  /** Milliseconds. */
  readonly drainDelayMs: number
  readonly drainMaxMs: number
}

/** Milliseconds in which the last connections may close by themselves. */
const LINGER_MS = 250

/** Resolves when the last connection is gone. */
export async function drain(
  app: FastifyInstance,
  inFlight: InFlight,
  sse: Sse,
  webSockets: WebSockets,
  log: Log,
  clock: Clock,
  { drainDelayMs, drainMaxMs }: DrainOptions,
): Promise<void> {
  inFlight.leave()
  if (drainDelayMs > 0) await sleep(clock, Math.min(drainDelayMs, drainMaxMs))
  inFlight.drain()
  const socketsClosed = webSockets.drain()
  sse.endAll()
  const serverClosed = app.close()
  await withDeadline(Promise.all([inFlight.idle(), socketsClosed]), drainMaxMs, clock)
  const requests = inFlight.count()
  if (requests > 0) log.warn({ requests }, 'requests were cut: they took longer than server.drainMaxMs')
  inFlight.cut()
  webSockets.terminate()
  // The connections of the last answers are idle now. A connection that is cut at once could lose an answer that is under way.
  app.server.closeIdleConnections()
  await withDeadline(serverClosed, LINGER_MS, clock)
  app.server.closeAllConnections()
  await serverClosed
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
