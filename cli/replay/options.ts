/** The options of `tidemark replay`, and a report as it is sent. */

export type ReplayOptions = {
  url: string
  /** Reports per row: the viewer's player calls every 15 s. */
  heartbeats: number
  /** Reports per call, at most 500. */
  batch: number
  /** Calls under way at once. */
  concurrency: number
  business: string
  token: string | undefined
  /** Wait until everything is in the record store. */
  wait: boolean
  verify: boolean
  /** Send nothing, and verify. */
  verifyOnly: boolean
  /** Where the metrics of the job are, if it is not the process that answers at `url`. */
  job: string | undefined
}

export type WireReport = {
  viewer: string
  business: string
  oid: string
  position: number
  duration: number
  viewedAt: number
  device?: string
}
