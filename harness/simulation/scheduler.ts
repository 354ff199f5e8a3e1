/**
 * One seeded scheduler decides the next event. It chooses the store call that takes effect, its parts, and if and when its answer arrives.
 * It chooses the timer that fires and its delay. It decides the fate of a dead process's calls.
 *
 * There is no real time and no real waiting. Each step does one thing, and then the code under test runs as far as it can before the next
 * step. Steps run by `setImmediate`, and Node empties the microtask queue between any two immediates. This is exact (no number of awaits to
 * guess) and deterministic. With many immediates queued at once, it costs less than a microsecond.
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
    /** Calls and timers of the process, except calls that it has given up. Empty if none. */
    left: (life: Life, patienceMs: number) =>
      [...namesOf(life, patienceMs), ...Array.from({ length: timers.countOf(life) }, () => 'a timer')].join(', '),
    /** The process loses its memory. */
    kill(life: Life): void {
      life.dead = true
      timers.forget(life)
      orphan(life)
    },
  }
}

const BATCH = 64

/**
 * Runs `step` until it returns false. The microtask queue is empty between any two steps. Rejects if a step throws. `setImmediate`
 * callbacks of the code under test run after at most `batch` steps.
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
