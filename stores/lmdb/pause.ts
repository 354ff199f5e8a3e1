import type { Clock } from '../../core/clock.ts'

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
