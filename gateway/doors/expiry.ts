/** When what somebody was let in by stops counting: connections that stay open must not outlive it. */
import type { Viewer } from '../../core/viewer.ts'

/** Timers take no more than this at once, and wake up early where the clock was set. */
const SLEEP_MAX_MS = 3_600_000

/** Calls `task` once when the viewer's token has expired; never if it does not. Returns what cancels it. */
export function whenExpired(viewer: Viewer | undefined, task: () => void): () => void {
  const expiresAt = viewer?.expiresAt
  if (expiresAt === undefined) return () => {}
  let timer: NodeJS.Timeout
  const sleep = (): void => {
    const leftMs = expiresAt - Date.now()
    if (leftMs <= 0) return task()
    timer = setTimeout(sleep, Math.min(leftMs, SLEEP_MAX_MS))
    timer.unref()
  }
  timer = setTimeout(sleep, 0)
  timer.unref()
  return () => clearTimeout(timer)
}

export const EXPIRED = 'the token has expired: sign in again and connect with the new one'
