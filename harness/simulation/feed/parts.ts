/** Regions of the hot store that are lost for a while, as on a cluster, while the others answer. */
import { randomBelow, type Random } from '../../../core/random.ts'
import type { History } from '../history-of-events.ts'
import type { Scheduler } from '../scheduler.ts'
import { REGIONS } from './draws.ts'

/** Milliseconds that a region is lost, at most. */
const LOST_MAX_MS = 3_000

export function makeParts(random: Random, scheduler: Scheduler, hasParts: boolean, history: History | undefined) {
  const lost = hasParts ? new Set<number>() : undefined
  let mendedAt = -Infinity

  function mend(region: number): void {
    if (lost?.delete(region) !== true) return
    mendedAt = scheduler.now()
    history?.note(scheduler.now(), `--- region ${region} is back`)
  }

  return {
    lost,
    lose(): void {
      const region = randomBelow(random, REGIONS)
      if (lost === undefined || lost.has(region)) return
      lost.add(region)
      history?.note(scheduler.now(), `--- region ${region} is lost`)
      scheduler.wait(50 + randomBelow(random, LOST_MAX_MS), undefined, () => mend(region))
    },
    mendAll: (): void => [...(lost ?? [])].forEach(mend),
    wasLostSince: (since: number): boolean => (lost !== undefined && lost.size > 0) || mendedAt >= since,
  }
}
