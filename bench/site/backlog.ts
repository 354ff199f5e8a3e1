/** The work that waits behind the acknowledged writes: messages of the log that no job has persisted, looked at while the load runs. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Deployment } from '../../harness/deployment/deployment.ts'
import { metricsOf } from '../../harness/deployment/role.ts'

const LAGS = [
  'tidemark_log_lag_messages',
  'tidemark_marks_log_lag_messages',
  'tidemark_plays_log_lag_messages',
  'tidemark_feed_log_lag_messages',
]
const LOOK_EVERY_MS = 1_000

/** Returns a function that ends the watch, and resolves to the longest backlog. */
export function watchBacklog({ jobs, markJobs, seenJobs, feedJobs }: Deployment): () => Promise<number> {
  const roles = [...jobs, ...markJobs, ...seenJobs, ...feedJobs]
  let most = 0
  let isOver = false
  async function watch(): Promise<void> {
    do {
      const metrics = await Promise.all(roles.map(metricsOf))
      const waiting = metrics.flatMap((each) => LAGS.map((name) => each?.get(name) ?? 0))
      most = Math.max(
        most,
        waiting.reduce((sum, count) => sum + count),
      )
      if (!isOver) await sleep(LOOK_EVERY_MS)
    } while (!isOver)
  }
  const watching = watch()
  return async () => {
    isOver = true
    await watching
    return most
  }
}
