/** A time at one rate, and whether the site held it. */
import type { Answered } from '../support/open-loop.ts'
import { quantileOf } from '../support/quantile.ts'
import { watchBacklog } from './backlog.ts'
import type { RunningSite, Windows } from './running-site.ts'
import { watchCpu, type Spent } from './spent.ts'

export type Run = { perSecond: number; seconds: number; answered: Answered[]; p99Ms: number; spent: Spent; backlog: number }

export const P99_MAX_MS = 100
/** The default of `stores.regions`. */
const REGIONS = 100

/** Each region may have a message of each second that waits for a window of marks. Twice as many are too many. */
export function backlogMax({ marksMs }: Windows): number {
  return 2 * REGIONS * (1 + marksMs / 1_000)
}

export async function runAt(site: RunningSite, perSecond: number, seconds: number): Promise<Run> {
  const cpu = watchCpu(site.parts)
  const backlog = watchBacklog(site.deployment)
  const { answered } = (await site.load.ask({ perSecond, seconds })) as { answered: Answered[] }
  const spent = cpu()
  const ms = answered.map((each) => each.ms).toSorted((a, b) => a - b)
  return { perSecond, seconds, answered, p99Ms: quantileOf(ms, 0.99), spent, backlog: await backlog() }
}

/** Sentences. Empty if the rate held. */
export function failuresOf({ answered, p99Ms, backlog }: Run, windows: Windows): string[] {
  const failures = answered.flatMap(({ failure }) => failure ?? [])
  return [
    ...(p99Ms < P99_MAX_MS ? [] : ['p99 is too high']),
    ...(failures.length === 0 ? [] : [`${failures.length} calls failed, such as ${failures[0]}`]),
    ...(backlog <= backlogMax(windows) ? [] : ['the backlog is too long']),
  ]
}
