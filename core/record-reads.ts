/** Reads of a record store as the service makes them: behind its breaker, so many at once, and so many that wait for those. */
import { bulkhead, isBulkheadRejectedError } from 'cockatiel'
import type { Breaker } from './breaker.ts'
import { TidemarkError } from './errors.ts'

export type RecordReadsOptions = {
  /** Reads of the record store under way at once. Default 8. */
  recordReadsMax?: number
  /** Reads of the record store that may wait for that. Default 1000. */
  recordReadsWaitingMax?: number
}

/** `what` is read, in the words of a sentence. One that finds no room rejects with RECORD_STORE_UNAVAILABLE. */
export function makeRecordReads(
  breaker: Breaker,
  { recordReadsMax = 8, recordReadsWaitingMax = 1_000 }: RecordReadsOptions,
  what = 'the record store',
): <T>(task: () => Promise<T>) => Promise<T> {
  const limit = bulkhead(recordReadsMax, recordReadsWaitingMax)
  return async (task) => {
    try {
      return await limit.execute(() => breaker.run(task))
    } catch (error) {
      if (!isBulkheadRejectedError(error)) throw error
      const sentence = `${recordReadsWaitingMax} reads of ${what} wait already: try again`
      throw new TidemarkError('RECORD_STORE_UNAVAILABLE', sentence, { cause: error })
    }
  }
}
