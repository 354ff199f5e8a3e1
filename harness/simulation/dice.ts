/** Draws from a seeded generator. */
import { randomBelow, type Random } from '../../core/random.ts'

/** A whole number, both ends included. */
export type Between = (from: number, to: number) => number
/** True with this probability. */
export type Chance = (of: number) => boolean

export type Dice = { between: Between; chance: Chance; pick<T>(from: readonly T[]): T }

export function makeDice(random: Random): Dice {
  return {
    between: (from, to) => from + randomBelow(random, to - from + 1),
    chance: (of) => random() < of,
    pick: <T>(from: readonly T[]): T => from[randomBelow(random, from.length)] as T,
  }
}
