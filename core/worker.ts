/** Work that is done again and again, with a pause after each round. A failed round is told, and the next one tries again. */
import type { Clock, Timer } from './clock.ts'

export type Rounds = {
  /** Ends after the round under way, which is told by its `mayGoOn`. */
  stop(): Promise<void>
}

export function startRounds(
  clock: Clock,
  everyMs: number,
  round: (mayGoOn: () => boolean) => Promise<unknown>,
  onError: (error: unknown) => void,
): Rounds {
  let stopped = false
  let timer: Timer | undefined
  let underWay: Promise<unknown> = Promise.resolve()

  function plan(): void {
    timer = clock.after(everyMs, () => {
      underWay = round(() => !stopped)
        .catch(onError)
        .then(() => {
          if (!stopped) plan()
        })
    })
  }

  plan()
  return {
    async stop() {
      stopped = true
      timer?.cancel()
      await underWay
    },
  }
}
