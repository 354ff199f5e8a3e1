/**
 * The form of an attack, and the parts that all attacks share. Each file of attacks/ exports `attacks`, and `npm run bench --
 * abuse` runs them. Each attack has its own process and its own address, and runs against a new process of the product in
 * production mode with default limits.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'

export type Target = {
  /** The GraphQL address. */
  readonly url: string
  /** The same for WebSockets. */
  readonly webSocketUrl: string
  /** A signed token of the attacker, a viewer without special scopes. */
  readonly token: string
}

export type Attack = {
  /** The title in the table of results. */
  readonly title: string
  /** The process to attack: the gateway with everything behind it, or one subgraph that runs alone. */
  readonly role: 'start' | 'subgraph'
  /** Attacks until the signal aborts. Resolves with counts by name (`sent`, `refused`). Rejects only on its own mistake. */
  run(target: Target, signal: AbortSignal): Promise<Readonly<Record<string, number>>>
}

/** All of 127.0.0.0/8 is this machine: the product sees attackers and healthy clients at different addresses. */
export const ATTACKER_ADDRESS = '127.0.0.2'

export function makeAttackerPool({ url }: Pick<Target, 'url'>, connections: number): Pool {
  return new Pool(new URL(url).origin, {
    connections,
    // Not an option of `connect`, because undici would replace it with null.
    localAddress: ATTACKER_ADDRESS,
    bodyTimeout: 60_000,
    headersTimeout: 60_000,
  })
}

export type Pace = {
  readonly lanes: number
  readonly perSecond: number
  readonly headers?: Readonly<Record<string, string>>
  /** Milliseconds after which the client drops this request; undefined if it waits for the answer. */
  leavesAfterMs?(index: number): number | undefined
}

/** Sends bodies from concurrent lanes, each waiting for its answer, and at most `perSecond` in all. Counts statuses. */
export async function postUntil(
  target: Target,
  signal: AbortSignal,
  { lanes, perSecond, headers = {}, leavesAfterMs }: Pace,
  body: (index: number) => string,
): Promise<Readonly<Record<string, number>>> {
  const pool = makeAttackerPool(target, lanes)
  const counts: Record<string, number> = { sent: 0 }
  const count = (name: string) => (counts[name] = (counts[name] ?? 0) + 1)
  const { pathname } = new URL(target.url)
  const begun = performance.now()
  let next = 0
  async function lane(): Promise<void> {
    while (!signal.aborted) {
      const index = next++
      const early = begun + (index * 1_000) / perSecond - performance.now()
      if (early > 0) await sleep(early, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      count('sent')
      const patienceMs = leavesAfterMs?.(index)
      const leaving = patienceMs === undefined ? undefined : AbortSignal.timeout(patienceMs)
      try {
        const request = {
          path: pathname,
          method: 'POST' as const,
          headers: { 'content-type': 'application/json', ...headers },
          body: body(index),
        }
        const { statusCode, body: answer } = await pool.request({
          ...request,
          signal: leaving === undefined ? signal : AbortSignal.any([signal, leaving]),
        })
        await answer.dump()
        count(`status ${statusCode}`)
      } catch {
        if (!signal.aborted) count(leaving?.aborted === true ? 'left' : 'no answer')
      }
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  await pool.destroy()
  return counts
}
