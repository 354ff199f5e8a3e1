/**
 * A MariaDB with about a tenth of its time: it is stopped for nine tenths of each time slice, as far as timers are exact. With slices of
 * 40 ms, a fast machine answered all eight reads of a limit in one slice, so none of them was slow.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { OwnServer } from '../../harness/deployment/own-servers.ts'

const RUNS_MS = 2
const STOPPED_MS = 18

/** The server is slow until the returned function is called. */
export function slowDown(server: Pick<OwnServer, 'freeze' | 'thaw'>): () => Promise<void> {
  let isSlow = true
  const slices = (async () => {
    while (isSlow) {
      server.freeze()
      await sleep(STOPPED_MS)
      server.thaw()
      await sleep(RUNS_MS)
    }
  })()
  return async () => {
    isSlow = false
    await slices
  }
}
