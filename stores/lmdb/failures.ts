/**
 * What LMDB throws, as the errors of the ports. A full map and a full disk are STORE_FULL: everything else still reads,
 * and the same write succeeds once there is room. Whatever else is wrong with the files is "unavailable".
 *
 * The library reports a failed commit as "Commit failed", and the reason in a second promise; it must be awaited, or
 * its rejection is nobody's.
 */
import { TidemarkError, isTidemarkError, type ErrorCode } from '../../core/errors.ts'

export type UnavailableCode = 'HOT_STORE_UNAVAILABLE' | 'LOG_UNAVAILABLE' | 'RECORD_STORE_UNAVAILABLE'

const FULL = /MDB_MAP_FULL|mapsize limit|ENOSPC|No space left|EDQUOT|quota exceeded/i

/** Runs `task`; what it throws leaves as a TidemarkError. */
export async function failingAs<T>(code: UnavailableCode, folder: string, task: () => T | Promise<T>): Promise<T> {
  try {
    return await task()
  } catch (error) {
    throw isTidemarkError(error) ? error : await describeFailure(code, folder, error)
  }
}

async function describeFailure(code: ErrorCode, folder: string, error: unknown): Promise<TidemarkError> {
  const cause = await reasonOf(error)
  const reason = cause instanceof Error ? cause.message : String(cause)
  if (FULL.test(reason)) {
    return new TidemarkError('STORE_FULL', `the embedded stores in ${folder} are full (${reason}): free disk space, or raise stores.mapSizeGb and restart`, {
      cause,
    })
  }
  return new TidemarkError(code, `the embedded stores in ${folder} failed: ${reason}`, { cause })
}

async function reasonOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error
  try {
    await error.commitError
  } catch (reason) {
    return reason
  }
  return error
}
