/** Rejected inputs: a failed check rejects one input of a batch, and the others still count. */
import { isTidemarkError, type ErrorCode } from '../../../core/errors.ts'

export type Rejected = { outcome: 'REJECTED'; code: ErrorCode; message: string }

export function orReject<T>(check: () => T): T | Rejected {
  try {
    return check()
  } catch (error) {
    if (isTidemarkError(error)) return { outcome: 'REJECTED', code: error.code, message: error.message }
    throw error
  }
}
