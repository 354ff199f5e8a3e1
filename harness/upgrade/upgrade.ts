/** The parts of an upgrade under load that both shapes share: its settings, its steps and its report. */
import { setTimeout as sleep } from 'node:timers/promises'
import { THUMBUP } from '../chaos/thumbup/chaos.ts'
import { makeBalancer } from './balancer.ts'
import type { Place, Releases } from './place.ts'
import { startTraffic, type Traffic } from './traffic.ts'

export type UpgradeOptions = {
  releases: Releases
  /** Milliseconds of load after each step. */
  stepMs: number
  seed: number
  progress(text: string): void
}

export type UpgradeReport = {
  steps: number
  calls: number
  slowestMs: number
  /** Acknowledged writes. */
  acknowledged: number
  /** Sentences about calls that failed, and answers that were wrong or not complete. */
  failures: string[]
  /** Sentences about acknowledged writes that are missing. */
  losses: string[]
  /** Sentences about processes that ended by themselves. */
  deaths: string[]
}

export type Step = { text: string; run(): Promise<unknown> }

export const QUIET_MAX_MS = 120_000

/** Both releases know them. The first delay is longer than the balancer needs to see a process leave. */
export const SETTINGS = {
  server: { drainDelayMs: 1_500 },
  history: { flushKeysMax: 50, flushAgeMaxMs: 300, sweepAfterMs: 2_000, sweepEveryMs: 500, timelineCap: 40 },
  thumbup: THUMBUP,
  businesses: [
    { number: 1, name: 'video', entity: 'Video', thumbup: { likesCap: 20 } },
    { number: 2, name: 'article', entity: 'Article' },
  ],
}

/** `places`: all of them. `serving`: those that answer requests. `look` returns sentences about missing writes. */
export async function underTraffic(
  { serving, places, steps }: { serving: readonly Place[]; places: readonly Place[]; steps: readonly Step[] },
  { seed, stepMs, progress }: UpgradeOptions,
  look: (traffic: Traffic) => Promise<string[]>,
): Promise<UpgradeReport> {
  const balancer = makeBalancer(serving)
  const traffic = startTraffic(balancer, seed, progress)
  try {
    await traffic.answered()
    for (const { text, run } of steps) {
      progress(text)
      await run()
      await traffic.answered()
      await sleep(stepMs)
      progress(`  ${traffic.calls()} calls, ${traffic.failures.length} failures`)
    }
  } finally {
    await traffic.stop()
    await balancer.close()
  }
  progress('the load has ended; looking up the acknowledged writes')
  const { reports, marks, plays, failures } = traffic
  return {
    steps: steps.length,
    calls: traffic.calls(),
    slowestMs: traffic.slowestMs(),
    acknowledged: reports.acknowledgedCount() + marks.acknowledgedCount() + plays.plays().length,
    failures,
    losses: await look(traffic),
    deaths: places.flatMap((place) => place.deaths()),
  }
}
