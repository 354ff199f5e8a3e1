/** Leaps of time: to the end of an hour or a month, or some hours or months ahead. */
import type { Random } from '../../../core/random.ts'
import { HOUR_MS, beginningOf, monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import { makeDice } from '../dice.ts'
import type { History } from '../history-of-events.ts'
import type { Scheduler } from '../scheduler.ts'
import type { SeenClients } from './clients.ts'
import type { SeenHotState } from './model-hot.ts'
import type { Ring, RollOut } from './rollout.ts'

const MINUTE_MS = 60_000
const DAY_HOURS = 24

export type LeapingWorld = { scheduler: Scheduler; clients: SeenClients; hot: SeenHotState; ring: Ring; rollOut: RollOut }

export function makeLeaps(random: Random, isCalm: boolean, world: LeapingWorld, history: History | undefined) {
  const { scheduler, clients, hot, ring, rollOut } = world
  const { between, chance } = makeDice(random)
  let isResting = false

  function isAtRest(): boolean {
    return scheduler.underWay() === 0 && !clients.isBusy()
  }

  function drawLeap(now: number, isIdle: boolean): number {
    const edge = between(-12_000, chance(0.5) ? 12_000 : 90_000)
    const which = random()
    if (which < 0.5 || !isIdle) return (Math.floor(now / HOUR_MS) + 1) * HOUR_MS + edge
    if (which < 0.7) return now + between(1, 50 * MINUTE_MS)
    if (which < 0.88) return now + between(1, 8) * HOUR_MS + edge
    if (which < 0.94) return beginningOf(monthOf(now) + 1) + edge
    return beginningOf(monthOf(now) + between(2, 8)) + between(0, 20) * DAY_HOURS * HOUR_MS + edge
  }

  return {
    /** No device begins anything until time has passed. */
    isResting: () => isResting,
    isDue: () => isResting && isAtRest(),
    /** Leaps far ahead only when no call is in flight. */
    leap(): void {
      const now = scheduler.now()
      const isIdle = isAtRest()
      // Without faults no call takes hours: devices begin nothing until no call is in flight.
      isResting = isCalm && !isIdle
      if (isResting) return
      const to = drawLeap(now, isIdle)
      if (to <= now || (!isIdle && !chance(0.2))) return
      // The rollout is complete by then.
      if (ring.isRolledOutBy(to)) rollOut(true)
      history?.note(now, `--- it is ${new Date(to).toISOString()}`)
      scheduler.pass(to - now)
      hot.forgetFolds(() => chance(0.7))
    },
  }
}
