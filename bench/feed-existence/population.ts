/**
 * Plays of a population, hour by hour. Nine in ten viewers come in 4 hours of a month, nine in a hundred in 20, and one in a hundred in
 * 100. They play 1 to 7 subjects in such an hour, and the last group plays 4 to 16. In the evening there are five times as many plays as at
 * night.
 */
import type { Play } from '../../core/domain.ts'
import { randomBelow, type Random } from '../../core/random.ts'
import { BUSINESS } from './viewers.ts'

const KINDS = [
  { share: 0.9, hoursPerMonth: 4, least: 1, most: 7 },
  { share: 0.09, hoursPerMonth: 20, least: 1, most: 7 },
  { share: 0.01, hoursPerMonth: 100, least: 4, most: 16 },
]
const HOURS_OF_MONTH = 720
/** The factor of each hour of the day, relative to the mean. */
const CURVE = Array.from({ length: 24 }, (_, hour) => 1 + (2 / 3) * Math.cos(((hour - 20) / 12) * Math.PI))

export type Session = { viewer: string; plays: number }

export function makePopulation(viewers: number, random: Random) {
  let oid = 1_000_000_000
  const visitsOf = (kind: (typeof KINDS)[number], hourOfDay: number): number => {
    const mean = (viewers * kind.share * kind.hoursPerMonth * (CURVE[hourOfDay] as number)) / HOURS_OF_MONTH
    return Math.floor(mean) + (random() < mean % 1 ? 1 : 0)
  }
  return {
    /** The visits of an hour, in any order. The same viewer may come twice. */
    sessions(hourOfDay: number): Session[] {
      const all: Session[] = []
      let first = 0
      for (const kind of KINDS) {
        const count = Math.round(viewers * kind.share)
        for (let visit = visitsOf(kind, hourOfDay); visit > 0; visit--) {
          const viewer = String(1_000_000_000 + (first + randomBelow(random, count)) * 13)
          all.push({ viewer, plays: kind.least + randomBelow(random, kind.most - kind.least + 1) })
        }
        first += count
      }
      return all
    },
    playsOf({ viewer, plays }: Session, playedAt: number): Play[] {
      return Array.from({ length: plays }, () => ({ viewer, business: BUSINESS, oid: String((oid += 7)), playedAt }))
    },
  }
}
