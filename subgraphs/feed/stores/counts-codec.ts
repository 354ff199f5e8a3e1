/** The form of totals in record stores: JSON of the counters that are not 0, because the counters of a business may change. */
import { TidemarkError } from '../../../core/errors.ts'
import type { Counts } from '../model/counts.ts'

export function encodeCounts(counts: Counts): Buffer {
  return Buffer.from(JSON.stringify(Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))))
}

/** Throws DATA_DAMAGED. */
export function decodeCounts(bytes: Buffer): Counts {
  try {
    return JSON.parse(bytes.toString()) as Counts
  } catch (error) {
    throw new TidemarkError('DATA_DAMAGED', `stored counters are not JSON: "${bytes.toString().slice(0, 60)}". Restore the backup`, {
      cause: error,
    })
  }
}
