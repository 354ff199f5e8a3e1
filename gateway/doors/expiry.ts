/** The expiry of tokens. An open connection must not outlive the token that it was opened with. */
import type { Viewer } from '../../core/viewer.ts'

/** The longest sleep of a timer. After it, the timer reads the clock again, because the clock may have been set. */
const SLEEP_MAX_MS = 3_600_000

/** Calls `task` once when the viewer's token has expired; never if the token does not expire. Returns a function that cancels it. */
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
