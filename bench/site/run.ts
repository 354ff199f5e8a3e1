/** A time at one rate, and whether the site held it. */
import { availableParallelism } from 'node:os'
import type { Answered } from '../support/open-loop.ts'
import { quantileOf } from '../support/quantile.ts'
import { watchBacklog } from './backlog.ts'
import type { KindName } from './operations.ts'
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

/** `only`: all calls are of this kind. */
export async function runAt(site: RunningSite, perSecond: number, seconds: number, only?: KindName): Promise<Run> {
  const cpu = watchCpu(site.parts)
  const backlog = watchBacklog(site.deployment)
  const { answered } = (await site.load.ask({ perSecond, seconds, ...(only !== undefined && { only }) })) as { answered: Answered[] }
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

/** The run in one sentence. */
export function sentenceOf(run: Run, windows: Windows): string {
  const { perSecond, seconds, p99Ms, answered, backlog, spent } = run
  const bySecond = Map.groupBy(answered, ({ atMs }) => Math.floor(atMs / 1_000))
  const slow = Array.from(bySecond.values()).filter((all) => all.filter(({ ms }) => ms >= P99_MAX_MS).length > all.length / 100)
  const others = Math.round((100 * spent.others) / (spent.seconds * availableParallelism()))
  return [
    `${perSecond} calls/s for ${seconds} s: p99 ${p99Ms.toFixed(1)} ms, above ${P99_MAX_MS} ms in ${slow.length} of ${bySecond.size} single seconds`,
    `backlog ${backlog}, other programs ${others}% of the machine`,
    failuresOf(run, windows).join('; ') || 'held',
  ].join('; ')
}
