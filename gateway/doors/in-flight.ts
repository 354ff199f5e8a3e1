/** The requests that are not answered yet, and the phase of the shutdown. */
import type { ServerResponse } from 'node:http'

export type InFlight = {
  track(response: ServerResponse): void
  /** False once the shutdown has begun. */
  isOpen(): boolean
  /** True once new requests are refused. */
  isDraining(): boolean
  /** The shutdown begins: each answer asks its client to close the connection. */
  leave(): void
  /** New requests are refused. */
  drain(): void
  count(): number
  /** Resolves when all are answered. */
  idle(): Promise<void> | undefined
  /** Destroys the responses that are not answered yet. */
  cut(): void
}

export function makeInFlight(): InFlight {
  const responses = new Set<ServerResponse>()
  let phase: 'open' | 'leaving' | 'draining' = 'open'
  let whenIdle = () => {}

  return {
    track(response) {
      responses.add(response)
      if (phase !== 'open') response.setHeader('connection', 'close')
      response.on('close', () => {
        responses.delete(response)
        if (responses.size === 0) whenIdle()
      })
    },
    isOpen: () => phase === 'open',
    isDraining: () => phase === 'draining',
    leave() {
      phase = 'leaving'
      for (const response of responses) if (!response.headersSent) response.setHeader('connection', 'close')
    },
    drain() {
      phase = 'draining'
    },
    count: () => responses.size,
    idle: () => (responses.size === 0 ? undefined : new Promise<void>((resolve) => (whenIdle = resolve))),
    cut() {
      for (const response of responses) response.destroy()
    },
  }
}
