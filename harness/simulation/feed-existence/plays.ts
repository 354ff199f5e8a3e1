/** Random plays and candidates. Times are as wrong as those of the worst devices. */
import type { Play, ViewerId } from '../../../core/domain.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import { beginningOf, monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import { makeDice } from '../dice.ts'
import type { Scheduler } from '../scheduler.ts'
import { BUSINESSES, OIDS } from './universe.ts'

export type SeenClientOptions = {
  viewers: readonly ViewerId[]
  devices: number
  /** The number of ids in use. */
  oids: number
  monthsBefore: number
  futureMaxMs: number
  skewMaxMs: number
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

export type PlayDraws = ReturnType<typeof makePlayDraws>

export function makePlayDraws(random: Random, scheduler: Scheduler, options: SeenClientOptions) {
  const { viewers, monthsBefore, futureMaxMs, skewMaxMs } = options
  const { between, pick } = makeDice(random)
  const ids = (max: number): string[] => Array.from({ length: between(1, max) }, () => OIDS[randomBelow(random, options.oids)] as string)

  /** Undefined: the server sets the time. */
  function drawPlayedAt(): number | undefined {
    const now = scheduler.now()
    const chance = random()
    if (chance < 0.35) return undefined
    if (chance < 0.5) return now
    if (chance < 0.65) return now - randomBelow(random, 90 * MINUTE_MS)
    if (chance < 0.8) return now - randomBelow(random, 40 * DAY_MS)
    // The ends of months, a moment before and after.
    if (chance < 0.92) return Math.min(now, beginningOf(monthOf(now) - between(0, monthsBefore)) + between(-1, 1))
    if (chance < 0.97) return now + randomBelow(random, Math.floor(futureMaxMs / 2))
    return chance < 0.985 ? now + 100 * futureMaxMs : beginningOf(monthOf(now) - monthsBefore - 2)
  }

  /** Undefined if the answer depends on the clock of the server. */
  function isGood(playedAt: number): boolean | undefined {
    const judged = [-1, 1].map((sign) => {
      const now = scheduler.now() + sign * skewMaxMs
      return playedAt <= now + futureMaxMs && monthOf(playedAt) >= monthOf(now) - monthsBefore
    })
    return judged[0] === judged[1] ? judged[0] : undefined
  }

  return {
    ids,
    /** Includes ids that are never played. */
    candidates: (): string[] => Array.from({ length: between(3, 2 * OIDS.length) }, () => pick(OIDS)),
    drawPlayedAt,
    isGood,
    /** A report may repeat earlier plays, alone or with others. */
    drawReport: (logged: readonly Play[]): Play[] =>
      Array.from({ length: between(1, 4) }, (): Play => {
        const repeated = random() < 0.2 && logged.length > 0 ? pick(logged) : undefined
        if (repeated !== undefined) return { ...repeated }
        const business = pick(BUSINESSES)
        return { viewer: pick(viewers), business, oid: ids(1)[0] as string, playedAt: drawPlayedAt() ?? scheduler.now() }
      }),
  }
}
