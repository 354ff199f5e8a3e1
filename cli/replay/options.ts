/** The options of `tidemark replay`, and a report as it is sent. */

export type ReplayOptions = {
  url: string
  /** Reports per row, 15 s apart, like the heartbeats of a player. */
  heartbeats: number
  /** Reports per call, at most 500. */
  batch: number
  /** Concurrent calls. */
  concurrency: number
  business: string
  token: string | undefined
  /** Wait until everything is in the record store. */
  wait: boolean
  verify: boolean
  /** Send nothing, and verify. */
  verifyOnly: boolean
  /** Address of the job's metrics, if the process at `url` does not run the job. */
  job: string | undefined
}

export type WireReport = {
  viewer: string
  business: string
  id: string
  position: number
  duration: number
  viewedAt: number
  device?: string
}
