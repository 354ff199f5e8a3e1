/** Heartbeats of a member while it works or waits, so that the group does not take a slow database for a dead member. */
import type { EachBatchPayload } from 'kafkajs'
import type { Clock } from '../../core/clock.ts'

type Beating = Pick<EachBatchPayload, 'heartbeat'>
export type Heartbeats = ReturnType<typeof makeHeartbeats>

/** A heartbeat failed: the cause is its error. */
export class HeartbeatFailure extends Error {
  constructor(cause: unknown) {
    super('a heartbeat failed', { cause })
  }
}

/** `beatMs`: milliseconds between two heartbeats. `ending` resolves when the member ends. */
export function makeHeartbeats(clock: Clock, beatMs: number, ending: Promise<void>) {
  function startHeart(payload: Beating) {
    const failed = Promise.withResolvers<void>()
    let failure: unknown
    let timer = clock.after(beatMs, beat)
    let isStopped = false
    function beat(): void {
      payload.heartbeat().then(
        () => {
          if (!isStopped) timer = clock.after(beatMs, beat)
        },
        (error: unknown) => {
          failure = error
          failed.resolve()
        },
      )
    }
    function stop(): void {
      isStopped = true
      timer.cancel()
    }
    return { failed: failed.promise, failure: () => failure, stop }
  }

  return {
    /** Sends heartbeats while `work` runs. `work` is always awaited; if it fails too, the failed heartbeat is reported first. */
    async during(payload: Beating, work: Promise<void>): Promise<void> {
      const heart = startHeart(payload)
      try {
        await work
      } catch (error) {
        if (heart.failure() !== undefined) throw new HeartbeatFailure(heart.failure())
        throw error
      } finally {
        heart.stop()
      }
    },

    /** Waits, with heartbeats. A failed heartbeat, or the end of this member, ends the wait. */
    async pause(payload: Beating, delayMs: number): Promise<void> {
      const heart = startHeart(payload)
      const over = Promise.withResolvers<void>()
      const timer = clock.after(delayMs, over.resolve)
      try {
        await Promise.race([over.promise, ending, heart.failed])
        if (heart.failure() !== undefined) throw heart.failure()
      } finally {
        timer.cancel()
        heart.stop()
      }
    },
  }
}
