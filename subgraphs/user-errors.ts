/**
 * Expected failures of mutations are data: a payload lists them in `userErrors`. Unexpected ones, such as a store that does not answer, are
 * GraphQL errors.
 */
import { isTidemarkError, type ErrorCode, type TidemarkError } from '../core/errors.ts'

export type UserError = { code: ErrorCode; message: string; path: readonly string[] }

/** `at`: the input that the error is about. */
export function userErrorOf(
  { code, message, inputPath }: Pick<TidemarkError, 'code' | 'message' | 'inputPath'>,
  at: readonly string[],
): UserError {
  return { code, message, path: [...at, ...inputPath] }
}

/** Whether a mutation answers with this error in its payload: a mistake in its input, of a caller who may call it. */
function isExpected({ code }: TidemarkError): boolean {
  return EXPECTED.has(code)
}

const EXPECTED: ReadonlySet<ErrorCode> = new Set([
  ...(['BUSINESS_UNKNOWN', 'BUSINESS_DELETED', 'ID_INVALID', 'IDS_TOO_MANY', 'INPUTS_TOO_MANY'] as const),
  ...(['PLAYED_AT_INVALID', 'PLAYS_TOO_MANY'] as const),
])

/** The payload of a mutation, or `refused` of its mistake. Other errors are thrown as they are. */
export async function orUserErrors<T, R>(mutation: () => Promise<T>, refused: (userErrors: readonly UserError[]) => R): Promise<T | R> {
  try {
    return await mutation()
  } catch (error) {
    if (isTidemarkError(error) && isExpected(error)) return refused([userErrorOf(error, ['input'])])
    throw error
  }
}
