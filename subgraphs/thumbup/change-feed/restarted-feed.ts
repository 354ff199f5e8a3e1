/** A feed that is started again after each failure. It remembers how far the feed has read, and why it last failed. */
import type { Clock, Timer } from '../../../core/clock.ts'
import type { CountChanges, CountFeed, RunningFeed } from './count-feed.ts'

/** `take` gets the changes of every start. */
export function makeRestartedFeed(
  clock: Clock,
  feed: CountFeed,
  restartAfterMs: number,
  take: (changes: CountChanges) => Promise<void>,
  onGap: (sentence: string) => void,
  /** Called when the feed has failed. */
  onFailure: () => void,
) {
  const startedAt = clock.now()
  let stopped = false
  let running: RunningFeed | undefined
  let readUntil = 0
  let failure: string | undefined
  let retry: Timer | undefined

  async function start(): Promise<void> {
    try {
      const started = await feed.start(take, onGap)
      if (stopped) return await started.stop()
      running = started
      failure = undefined
      void started.ended.then((reason) => {
        if (stopped) return
        readSoFar()
        running = undefined
        void started.stop().catch(() => undefined)
        fail(reason)
      })
    } catch (error) {
      fail(error)
    }
  }

  function fail(reason: unknown): void {
    failure = reason instanceof Error ? reason.message : String(reason)
    if (stopped) return
    onFailure()
    retry = clock.after(restartAfterMs, () => void start())
  }

  function readSoFar(): number {
    readUntil = Math.max(readUntil, running?.readUntil() ?? 0)
    return readUntil
  }

  /** Milliseconds since the time up to which it has read, or since the start if it has not read yet. */
  function lagMs(): number {
    return clock.now() - Math.max(startedAt, readSoFar())
  }

  async function stop(): Promise<void> {
    stopped = true
    retry?.cancel()
    await running?.stop()
  }

  return { start, stop, lagMs, readUntil: readSoFar, failure: () => failure }
}
