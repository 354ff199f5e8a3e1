/**
 * The phases of every world. In lively steps clients act and faults happen. In quiet steps the faults have ended and everything comes to
 * rest. Then a client reads everything.
 */
import { randomBelow, type Random } from '../../core/random.ts'
import { runSteps, type Scheduler } from './scheduler.ts'
import type { Violation } from './violation.ts'

const STEPS_MAX = 200_000

export type WorldReport = { steps: number; failure: Violation | undefined }

export type SteppedWorld = {
  seed: number
  random: Random
  scheduler: Scheduler
  checker: { failure(): unknown; fail(message: string, viewer: undefined): void }
  /** Steps during which it is lively. */
  livelySteps: number
}

export type Phases = {
  /** Runs before each step: stops processes that were asked to stop. */
  drain(): void
  stepLively(): void
  beginQuiet(): void
  /** False if nothing is left to wait for. */
  stepQuiet(): boolean
}

/** The step for `runSteps`: false at the first failure, and when all is at rest. */
export function makeStep(world: SteppedWorld, phases: Phases): () => boolean {
  const { random, scheduler, checker, livelySteps } = world
  let isQuiet = false
  return () => {
    if (checker.failure() !== undefined) return false
    failIfRestless(world)
    // In quiet steps work takes no time, so that only waiting counts towards the bound.
    scheduler.pass(isQuiet ? 0 : random() < 0.9 ? randomBelow(random, 4) : randomBelow(random, 60))
    if (!isQuiet && scheduler.steps() > livelySteps) {
      phases.beginQuiet()
      isQuiet = true
    }
    phases.drain()
    if ((scheduler.underWay() === 0 || random() < 0.5) && scheduler.fireDue()) return true
    if (isQuiet) return phases.stepQuiet()
    phases.stepLively()
    return true
  }
}

/** After quiet: `read` reads everything, and steps go on until it has ended. */
export async function runUntilRead(world: SteppedWorld, read: () => Promise<void>, batch?: number): Promise<void> {
  const { scheduler, checker } = world
  let isRead = false
  void read().then(
    () => (isRead = true),
    (error: unknown) => checker.fail(`after quiet: ${String(error)}`, undefined),
  )
  await runSteps(() => {
    scheduler.pass(1)
    failIfRestless(world)
    if (!scheduler.fireDue()) scheduler.advanceOne()
    return !isRead && checker.failure() === undefined
  }, batch)
}

function failIfRestless({ seed, scheduler }: SteppedWorld): void {
  if (scheduler.steps() > STEPS_MAX) throw new Error(`seed ${seed} does not come to rest in ${STEPS_MAX} steps`)
}

/** Passes the time to the next timer, if there is one. */
export function passToNextDue(scheduler: Scheduler): void {
  const due = scheduler.nextDue()
  if (due !== undefined && due > scheduler.now()) scheduler.pass(due - scheduler.now())
}

/** The possible faults at a place. A draw from 0 to 1 selects the first one with a greater bound. */
export type Misfortunes<L> = readonly (readonly [below: number, befall: (place: L) => void])[]

export function befall<L>(random: Random, places: readonly L[], misfortunes: Misfortunes<L>): void {
  const place = places[randomBelow(random, places.length)] as L
  const which = random()
  misfortunes.find(([below]) => which < below)?.[1](place)
}
