/** Looks for changed manifests at an interval, and reports each change once. */
import type { Clock, Timer } from '../../core/clock.ts'
import { signatureOf } from './manifest-files.ts'

export type ManifestWatch = {
  start(): void
  /** Takes the present state of the files as seen. */
  markSeen(): void
  close(): void
}

/** `everyMs`: 0 for never. The next look waits for `changed`. */
export function makeManifestWatch(paths: readonly string[], everyMs: number, clock: Clock, changed: () => Promise<unknown>): ManifestWatch {
  let signature = signatureOf(paths)
  let timer: Timer | undefined
  let closed = false

  function start(): void {
    if (everyMs === 0 || paths.length === 0 || closed) return
    timer = clock.after(everyMs, () => {
      const done = signatureOf(paths) === signature ? Promise.resolve() : changed()
      void done.then(start)
    })
  }

  return {
    start,
    markSeen() {
      signature = signatureOf(paths)
    },
    close() {
      closed = true
      timer?.cancel()
    },
  }
}
