/** Rejected inputs: a failed check rejects one input of a batch, and the others are still stored. */
import { isTidemarkError, publicMessage, type TidemarkError } from '../core/errors.ts'

export type Rejected = { outcome: 'REJECTED' } & Pick<TidemarkError, 'code' | 'message' | 'inputPath'>

export function orReject<T>(check: () => T): T | Rejected {
  try {
    return check()
  } catch (error) {
    if (isTidemarkError(error)) return rejectedBy(error)
    throw error
  }
}

export function rejectedBy(error: TidemarkError): Rejected {
  return { outcome: 'REJECTED', code: error.code, message: publicMessage(error), inputPath: error.inputPath }
}
