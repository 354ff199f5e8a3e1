import type { Clock } from '../../core/clock.ts'

/** Milliseconds between two looks at a log that only other processes may have appended to. Appends of this process wake its consumers. */
export const LOG_POLL_MS = 2_000

export type Pause = {
  /** Resolves after `ms`, when it is woken, or at once after its end. */
  take(ms: number): Promise<void>
  wake(): void
  end(): void
  isEnded(): boolean
}

/** A consumer waits here between two reads of its table, until a process appends or it stops. */
export function makePause(clock: Clock): Pause {
  let isEnded = false
  let wake: () => void = () => undefined
  return {
    take(ms) {
      if (isEnded) return Promise.resolve()
      return new Promise((resolve) => {
        const timer = clock.after(ms, resolve)
        wake = () => {
          timer.cancel()
          resolve()
        }
      })
    },
    wake: () => wake(),
    end() {
      isEnded = true
      wake()
    },
    isEnded: () => isEnded,
  }
}
