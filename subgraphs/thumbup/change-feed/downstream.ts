/** The way downstream for both feeds: one call at a time, and each version of a key once (`change-memory.ts`). */
import type { Clock } from '../../../core/clock.ts'
import { makeChangeMemory } from './change-memory.ts'
import { sizeOf, type CountChanges } from './count-feed.ts'

export type Downstream = ReturnType<typeof makeDownstream>

/** `coveredUntil`: the time up to which the change feed has read. Nothing older comes from it again. */
export function makeDownstream(clock: Clock, keysMax: number, apply: (changes: CountChanges) => Promise<void>, coveredUntil: () => number) {
  const memory = makeChangeMemory(keysMax)
  let queue: Promise<unknown> = Promise.resolve()
  let [applied, repeated] = [0, 0]
  let isRisked = false

  /** Both feeds deliver at any time. Downstream gets one call at a time, and the memory drops repetitions. */
  function oneByOne(work: () => Promise<void>): Promise<void> {
    const done = queue.then(work)
    queue = done.catch(() => undefined)
    return done
  }

  /** Call it only within `oneByOne`. */
  async function pass(changes: CountChanges): Promise<void> {
    const fresh = memory.newOf(changes)
    const count = sizeOf(fresh)
    if (count > 0) await apply(fresh)
    memory.keep(fresh, clock.now(), coveredUntil())
    if (memory.takeRisked() > 0) isRisked = true
    applied += count
    repeated += sizeOf(changes) - count
  }

  /** True once after a key was forgotten although its changes may come again. */
  function takeRisk(): boolean {
    const wasRisked = isRisked
    isRisked = false
    return wasRisked
  }

  return { oneByOne, pass, takeRisk, figures: () => ({ applied, repeated }), settled: () => queue }
}
