/** Writes the beats of a feed at an interval, the first one at once. Of several failures in a row, only the first is logged. */
import type { Clock } from '../../../core/clock.ts'
import { makeWorker, type Worker } from '../../../core/worker.ts'

type BeatLogger = { warn(fields: object, message: string): void }

export function startBeats(clock: Clock, everyMs: number, feed: string, beat: () => Promise<void>, logger: BeatLogger): Worker {
  let isSilent = false
  const beats = makeWorker(
    clock,
    async () => {
      await beat()
      isSilent = false
    },
    () => everyMs,
    (error) => {
      if (!isSilent) logger.warn({ err: error, feed }, 'the beat of the change feed cannot be written')
      isSilent = true
    },
  )
  void beats.wake()
  return beats
}
