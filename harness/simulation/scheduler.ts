/**
 * One seeded scheduler decides what happens next: which store call takes effect, in how many parts, when its answer
 * arrives and whether it does; which timer fires and how late; when a process dies and what becomes of its calls.
 *
 * There is no real time and no real waiting. Each step does one thing, and the code under test then runs as far as it can
 * before the next step: steps are run by `setImmediate`, and Node empties the queue of microtasks between any two
 * immediates. That is exact (no count of awaits to guess), deterministic, and, with many immediates queued at once, costs
 * less than a microsecond.
 */
import type { Random } from '../../core/random.ts'
import { makeCalls, type CallOptions } from './calls.ts'
import type { History } from './history-of-events.ts'
import type { Life } from './life.ts'
import { makeOutages } from './outages.ts'
import { makeTimers } from './timers.ts'

export type Scheduler = ReturnType<typeof makeScheduler>

export function makeScheduler(random: Random, options: CallOptions, history: History | undefined) {
  let now = options.start
  let steps = 0
  const time = (): number => now
  const timers = makeTimers(time)
  const outages = makeOutages(time, history)
  const { namesOf, orphan, ...calls } = makeCalls(random, options, timers, outages, time, history)
  const { wait, clockOf, nextDue, fireDue } = timers
  return {
    now: time,
    steps: () => steps,
    /** Milliseconds pass, and a step is counted. */
    pass(ms: number): void {
      now += ms
      steps++
    },
    ...{ wait, clockOf, nextDue, fireDue },
    ...calls,
    ...outages,
    /** What the process has under way or planned, but for calls that it has given up; empty if nothing. */
    left: (life: Life, patienceMs: number) =>
      [...namesOf(life, patienceMs), ...Array.from({ length: timers.countOf(life) }, () => 'a timer')].join(', '),
    /** Everything in its memory is gone. */
    kill(life: Life): void {
      life.dead = true
      timers.forget(life)
      orphan(life)
    },
  }
}

const BATCH = 64

/**
 * Runs `step` until it returns false; microtasks run out between any two steps. Rejects with what a step throws. What the code
 * under test plans by `setImmediate` itself has its turn after `batch` steps at most.
 */
export function runSteps(step: () => boolean, batch: number = BATCH): Promise<void> {
  return new Promise((resolve, reject) => {
    let ended = false
    let left = 0
    const run = (): void => {
      if (ended) return
      try {
        ended = !step()
      } catch (error) {
        ended = true
        reject(error)
        return
      }
      if (ended) resolve()
      else if (--left === 0) plan()
    }
    const plan = (): void => {
      left = batch
      for (let i = 0; i < batch; i++) setImmediate(run)
    }
    plan()
  })
}
