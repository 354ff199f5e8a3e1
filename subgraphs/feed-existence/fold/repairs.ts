/**
 * Filters that a reader could not open, repaired behind his answer: one after the other, each once at a time. The fold repairs what
 * it comes by itself; but a month that is over is folded into no more, only read.
 *
 * Nothing is said when one is noted: what was made anew is told by the fold, and what cannot be, with the reason, here.
 */
import type { Clock } from '../../../core/clock.ts'
import type { Month, ViewerId } from '../../../core/domain.ts'
import { makeWorker } from '../../../core/worker.ts'
import type { Fold } from './fold.ts'

export type Repairs = {
  note(viewer: ViewerId, month: Month): void
  figures(): { unreadable: number; repaired: number }
  /** Waits for the one under way, and begins no more. */
  stop(): Promise<void>
}

/** Filters that may wait; the next reader of another one notes it again. */
const WAITING_MAX = 1_000

export function makeRepairs(
  clock: Clock,
  repair: Fold['repair'],
  forget: (viewer: ViewerId) => void,
  onError: (error: unknown) => void,
): Repairs {
  const waiting = new Map<string, { viewer: ViewerId; month: Month }>()
  const figures = { unreadable: 0, repaired: 0 }
  const worker = makeWorker(clock, work, () => undefined, onError)
  let stopped = false

  async function work(): Promise<void> {
    for (const [text, key] of waiting) {
      if (stopped) return
      try {
        // Another process may have come first: then it is its repair.
        if (await repair(key)) figures.repaired++
        forget(key.viewer)
      } catch (error) {
        onError(error)
      }
      // Only now: who reads it meanwhile notes nothing new.
      waiting.delete(text)
    }
  }

  return {
    note(viewer, month) {
      const text = `${month}:${viewer}`
      if (stopped || waiting.has(text) || waiting.size >= WAITING_MAX) return
      figures.unreadable++
      waiting.set(text, { viewer, month })
      void worker.wake()
    },
    figures: () => ({ ...figures }),
    async stop() {
      stopped = true
      await worker.stop()
    },
  }
}
