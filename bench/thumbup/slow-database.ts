/**
 * A MariaDB with a tenth of its time: it is stopped for nine tenths of each time slice, so its work takes ten times as long. In a slice, it
 * runs for less time than the reads of eight connections need, so reads wait on a fast machine too.
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
