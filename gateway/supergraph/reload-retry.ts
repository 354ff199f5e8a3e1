/**
 * After a change, reloads the graph, and again as long as reloads fail. It needs no polls. The first reload may fail: a remote subgraph of Tidemark
 * may adopt a live version a moment later, and the graph composes only then. Pauses between retries grow. A newer change resets the pause.
 */
import type { Clock } from '../../core/clock.ts'
import { makeWorker } from '../../core/worker.ts'
import type { ReloadResult } from './reload.ts'

const PAUSE_MIN_MS = 250
const PAUSE_MAX_MS = 60_000

export type ReloadRetry = {
  /** Reloads now, because something has changed. */
  begin(): void
  /** Resolves when the reload in progress has ended. */
  stop(): Promise<void>
}

/** `reload` counts and logs its failures. */
export function makeReloadRetry(reload: () => Promise<ReloadResult>, clock: Clock, onError: (error: unknown) => void): ReloadRetry {
  let failures = 0
  const worker = makeWorker(
    clock,
    async () => {
      const result = await reload()
      failures = result === 'failed' ? failures + 1 : 0
    },
    () => (failures === 0 ? undefined : Math.min(PAUSE_MIN_MS * 2 ** (failures - 1), PAUSE_MAX_MS)),
    onError,
  )
  return {
    begin() {
      failures = 0
      void worker.wake()
    },
    stop: () => worker.stop(),
  }
}
