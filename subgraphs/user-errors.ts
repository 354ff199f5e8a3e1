/**
 * Expected failures of mutations are data: a payload lists them in `userErrors`. Unexpected ones, such as a store that does not answer, are
 * GraphQL errors.
 */
import { isTidemarkError, publicMessage, type ErrorCode, type TidemarkError } from '../core/errors.ts'

export type UserError = { code: ErrorCode; message: string; path: readonly string[] }

/** `at`: the input that the error is about. */
export function userErrorOf(
  { code, message, inputPath }: Pick<TidemarkError, 'code' | 'message' | 'inputPath'>,
  at: readonly string[],
): UserError {
  return { code, message, path: [...at, ...inputPath] }
}

/** Mistakes in the input of a caller with access. The payload of the mutation has such an error. */
const EXPECTED: ReadonlySet<ErrorCode> = new Set([
  ...(['BUSINESS_UNKNOWN', 'BUSINESS_DELETED', 'ID_INVALID', 'IDS_TOO_MANY', 'INPUTS_TOO_MANY'] as const),
  ...(['PLAYED_AT_INVALID', 'PLAYS_TOO_MANY', 'QUOTA_EXCEEDED'] as const),
  ...(['TEXT_INVALID', 'MEDIA_INVALID', 'AUDIENCE_INVALID', 'KEY_INVALID', 'CLIENT_KEY_REUSED'] as const),
  ...(['POST_UNKNOWN', 'SOURCE_RESTRICTED', 'FILTER_WORDS_INVALID'] as const),
])

/**
 * The payload of a mutation. If its input has a mistake, the result of `refused`. Other errors are rethrown. `alsoExpected`: codes that this
 * mutation reports as data too.
 */
export async function orUserErrors<T, R>(
  mutation: () => Promise<T>,
  refused: (userErrors: readonly UserError[]) => R,
  alsoExpected: readonly ErrorCode[] = [],
): Promise<T | R> {
  try {
    return await mutation()
  } catch (error) {
    if (isTidemarkError(error) && (EXPECTED.has(error.code) || alsoExpected.includes(error.code)))
      return refused([userErrorOf(error, ['input'])])
    throw error
  }
}

/** An input of a batch that failed a check. The other inputs are stored. */
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
