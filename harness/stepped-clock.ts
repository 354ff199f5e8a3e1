/** A clock that moves only on request, and runs due timers in order of time. */
import type { Clock } from '../core/clock.ts'

export type SteppedClock = Clock & {
  /** Advances the time and runs every due timer. */
  advance(byMs: number): void
  /** The number of waiting timers. */
  pending(): number
}

export function makeSteppedClock(start = 1_700_000_000_000): SteppedClock {
  const timers = new Map<number, { at: number; task: () => void }>()
  let now = start
  let nextId = 0

  function nextDue(until: number): [number, { at: number; task: () => void }] | undefined {
    return [...timers].filter(([, timer]) => timer.at <= until).sort(([a, x], [b, y]) => x.at - y.at || a - b)[0]
  }

  return {
    now: () => now,
    after(delayMs, task) {
      const id = nextId++
      timers.set(id, { at: now + Math.max(0, delayMs), task })
      return { cancel: () => void timers.delete(id) }
    },
    advance(byMs) {
      const until = now + byMs
      for (let due = nextDue(until); due !== undefined; due = nextDue(until)) {
        timers.delete(due[0])
        now = Math.max(now, due[1].at)
        due[1].task()
      }
      now = until
    },
    pending: () => timers.size,
  }
}
