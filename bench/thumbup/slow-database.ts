/** A MariaDB with a tenth of its time: it is stopped for nine tenths of each time slice, so its work takes ten times as long. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { OwnServer } from '../../harness/deployment/own-servers.ts'

const RUNS_MS = 4
const STOPPED_MS = 36

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
