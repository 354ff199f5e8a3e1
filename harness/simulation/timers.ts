/** Timers of processes, and timed events of the world itself. */
import type { Clock, Timer } from '../../core/clock.ts'
import type { Life } from './life.ts'

type Waiting = { due: number; life: Life | undefined; run: () => void }

export type Timers = ReturnType<typeof makeTimers>

export function makeTimers(now: () => number) {
  /** Sorted by `due`. If times are equal, the earlier call is first. */
  let waiting: Waiting[] = []

  function wait(delayMs: number, life: Life | undefined, run: () => void): Waiting {
    const entry = { due: now() + delayMs, life, run }
    let place = waiting.length
    while (place > 0 && (waiting[place - 1] as Waiting).due > entry.due) place--
    waiting.splice(place, 0, entry)
    return entry
  }

  return {
    wait,
    clockOf: (life: Life): Clock => ({
      now: () => now() + life.skewMs,
      after(delayMs, task): Timer {
        if (life.dead) return { cancel: () => undefined }
        // Clocks show whole milliseconds.
        const entry = wait(Math.ceil(delayMs), life, task)
        return { cancel: () => void (waiting = waiting.filter((each) => each !== entry)) }
      },
    }),
    nextDue: () => waiting[0]?.due,
    /** Runs one due timer. False if none is due. */
    fireDue(): boolean {
      const first = waiting[0]
      if (first === undefined || first.due > now()) return false
      waiting.shift()
      first.run()
      return true
    },
    countOf: (life: Life) => waiting.filter((each) => each.life === life).length,
    forget: (life: Life): void => void (waiting = waiting.filter((each) => each.life !== life)),
  }
}
