/**
 * A load balancer in the client: calls go to a process whose `/health/ready` answered 200 a moment ago. To the writers of the chaos runs it
 * is one role.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Role } from '../deployment/role.ts'

export type Balancer = {
  role: Role
  /** True if no process was ready at this time, by performance.now(): a call of then has no answer. */
  wasOut(time: number): boolean
  close(): Promise<void>
}

const POLL_MS = 100

/** `places`: the processes that answer requests, each at an address that stays the same. */
export function makeBalancer(places: readonly { url: string }[]): Balancer {
  let ready: string[] = []
  let turn = 0
  let open = true
  const outages: { from: number; to: number }[] = [{ from: 0, to: Infinity }]

  async function poll(): Promise<void> {
    while (open) {
      const answers = await Promise.all(places.map(({ url }) => isReady(url)))
      ready = places.filter((_place, at) => answers[at]).map(({ url }) => url)
      const last = outages.at(-1)
      const isOut = last !== undefined && last.to === Infinity
      if (ready.length === 0 && !isOut) outages.push({ from: performance.now(), to: Infinity })
      if (ready.length > 0 && isOut) last.to = performance.now()
      await sleep(POLL_MS)
    }
  }
  const polling = poll()

  return {
    role: {
      name: 'the balancer',
      get url() {
        return ready[turn++ % Math.max(1, ready.length)] ?? places[0]?.url ?? ''
      },
      metricsUrl: '',
      pid: () => undefined,
      isRunning: () => true,
      kills: () => 0,
      deaths: () => [],
      start: () => Promise.resolve(),
      kill: () => Promise.resolve(),
      stop: () => Promise.resolve(0),
    },
    wasOut: (time) => outages.some(({ from, to }) => from <= time && time <= to),
    async close() {
      open = false
      await polling
    },
  }
}

/** `url`: of the API. */
async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(new URL('/health/ready', url), { signal: AbortSignal.timeout(5_000) })).ok
  } catch {
    return false
  }
}
