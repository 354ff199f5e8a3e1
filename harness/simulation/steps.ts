/**
 * How every world proceeds: a number of lively steps, in which clients act and things go wrong; then quiet steps, in which
 * faults have ended and everything comes to rest; then somebody reads all there is.
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
  /** Before each step: processes that shall stop are stopped. */
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
    // When it is quiet work takes no time: what takes long then is waiting, and that is what has a bound.
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

/** After quiet: `read` asks for everything, and steps go on until it has it. */
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

/** To the next timer, where one is planned for later. */
export function passToNextDue(scheduler: Scheduler): void {
  const due = scheduler.nextDue()
  if (due !== undefined && due > scheduler.now()) scheduler.pass(due - scheduler.now())
}

/** What may go wrong at a place, each up to a number below 1. */
export type Misfortunes<L> = readonly (readonly [below: number, befall: (place: L) => void])[]

export function befall<L>(random: Random, places: readonly L[], misfortunes: Misfortunes<L>): void {
  const place = places[randomBelow(random, places.length)] as L
  const which = random()
  misfortunes.find(([below]) => which < below)?.[1](place)
}
