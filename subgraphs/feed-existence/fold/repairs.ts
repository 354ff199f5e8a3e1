/**
 * Repairs filters that a reader could not open, behind the answer, one after the other. The fold repairs the filters that it encounters,
 * but it no longer touches a month that is over.
 *
 * Noting a filter reports nothing. The fold reports a rebuilt filter; a failed repair is reported here, with the reason.
 */
import type { Clock } from '../../../core/clock.ts'
import type { Month, ViewerId } from '../../../core/domain.ts'
import { makeWorker } from '../../../core/worker.ts'
import type { Fold } from './fold.ts'

export type Repairs = {
  note(viewer: ViewerId, month: Month): void
  figures(): { unreadable: number; repaired: number }
  /** Waits for the current repair, and begins none. */
  stop(): Promise<void>
}

/** Filters that may wait. Beyond that, the next reader notes a filter again. */
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
        // False if another process has repaired it first. That process counts the repair.
        if (await repair(key)) figures.repaired++
        forget(key.viewer)
      } catch (error) {
        onError(error)
      }
      // Removed last, so that readers in the meantime do not note it again.
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
