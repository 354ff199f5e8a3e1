/**
 * Maps LMDB's exceptions to the errors of the ports. A full disk is STORE_FULL: reads still work, and the same write
 * succeeds once there is room. Every other failure of the files is "unavailable".
 *
 * LMDB reports a write that the disk cut short as an input/output error, so this file checks the free space. The library
 * reports a failed commit as "Commit failed", with the reason in a second promise. That promise must be awaited, or its
 * rejection is unhandled.
 */
import { statfs } from 'node:fs/promises'
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { unusableFolder } from './make-folder.ts'

export type UnavailableCode = 'HOT_STORE_UNAVAILABLE' | 'LOG_UNAVAILABLE' | 'RECORD_STORE_UNAVAILABLE'

const FULL = /MDB_MAP_FULL|No space left|quota exceeded|File too large/i
const DISK_ERROR = /Input\/output error/i
/** One commit writes a few MB; a disk with less than this may have cut it short. */
const DISK_BYTES_MIN = 16 * 2 ** 20

/** Runs `task`. Errors of LMDB become TidemarkErrors; a bug of Tidemark stays as it is, since it tells nothing about the store. */
export async function failingAs<T>(code: UnavailableCode, folder: string, task: () => T | Promise<T>): Promise<T> {
  try {
    return await task()
  } catch (error) {
    if (isTidemarkError(error) || error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) throw error
    throw await describeFailure(code, folder, error)
  }
}

/** The reason for the lack of room in a failed commit; undefined if it failed for another reason. */
export async function fullReasonOf(folder: string, error: unknown): Promise<string | undefined> {
  const cause = await reasonOf(error)
  const reason = cause instanceof Error ? cause.message : String(cause)
  return FULL.test(reason) || (DISK_ERROR.test(reason) && (await isDiskFull(folder))) ? reason : undefined
}

async function describeFailure(code: UnavailableCode, folder: string, error: unknown): Promise<TidemarkError> {
  const cause = await reasonOf(error)
  const reason = cause instanceof Error ? cause.message : String(cause)
  if ((await fullReasonOf(folder, cause)) !== undefined) {
    return new TidemarkError('STORE_FULL', `the disk of the embedded stores is full (${reason}): free some space and try again`, { cause })
  }
  return new TidemarkError(code, `the embedded stores failed: ${reason}`, { cause })
}

const DAMAGED = /MDB_(CORRUPTED|INVALID|PAGE_NOTFOUND|VERSION_MISMATCH|PANIC)/

/** Translates an error of opening a data folder. */
export function openFailure(folder: string, error: unknown): unknown {
  if (isTidemarkError(error) || !(error instanceof Error)) return error
  if (FULL.test(error.message)) {
    return new TidemarkError(
      'STORE_FULL',
      `the disk of the data folder ${folder} is full (${error.message}): free some space and start again`,
      {
        cause: error,
      },
    )
  }
  if (!DAMAGED.test(error.message)) return unusableFolder(folder, error)
  const sentence = `the data folder ${folder} is damaged (${error.message}): restore it from a backup, or move it away to start without its data`
  return new TidemarkError('DATA_DAMAGED', sentence, { cause: error })
}

async function isDiskFull(folder: string): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize < DISK_BYTES_MIN
  } catch {
    return false
  }
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
