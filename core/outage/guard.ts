/** The options of every guarded store. */
import type { RecordReadsOptions } from './record-reads.ts'

export type GuardOptions = RecordReadsOptions & {
  /** Milliseconds between two questions to a store that is down. Default 1000. */
  checkEveryMs?: number
  /** Milliseconds a read of the record store may take. Default 3000. */
  recordPatienceMs?: number
  /** Milliseconds an append to the log may take. Default 5000. */
  logPatienceMs?: number
}
