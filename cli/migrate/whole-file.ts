/**
 * Writes a file as a whole or not at all: a draft beside it is written, synced and renamed. After a failure or a kill the old file is still
 * there. A path that is not a file, such as a pipe or /dev/stdout, is written directly.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { access, chmod, constants, open, realpath, rename, rm, stat } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { TidemarkError } from '../../core/errors.ts'

const OTHER_OUT = 'name another file with --out'

/** The size of the file in bytes; 0 if it does not exist. Throws CONFIG_INVALID. */
export async function bytesIn(path: string): Promise<number> {
  return explained(path, OTHER_OUT, async () => (await statOf(path))?.size ?? 0)
}

/**
 * Throws CONFIG_INVALID, with this advice, if the file cannot be written. The check creates a draft and removes it: root passes every check
 * of permissions, also in folders such as /proc that take no new files.
 */
export async function checkWritable(path: string, advice: string): Promise<void> {
  await explained(path, advice, async () => {
    const before = await statOf(path)
    if (before?.isDirectory() === true) throw new TidemarkError('CONFIG_INVALID', `${path} is a folder: ${advice}`)
    if (before !== undefined && !before.isFile()) return access(path, constants.W_OK)
    const draft = draftOf(before === undefined ? path : await realpath(path))
    await (await open(draft, 'wx', 0o600)).close()
    await rm(draft)
  })
}

/**
 * Throws the error of `write`, STORE_FULL, and CONFIG_INVALID, with this advice, if the file cannot be written. The old file is unchanged
 * then. Only the owner can read a new file, since it has data of viewers.
 */
export async function writeWholeFile<T>(path: string, write: (out: Writable) => Promise<T>, advice = OTHER_OUT): Promise<T> {
  return explained(path, advice, async () => {
    const before = await statOf(path)
    if (before !== undefined && !before.isFile()) return writeTo(path, 'w', write)
    // For a link, replace the file behind it.
    const place = before === undefined ? path : await realpath(path)
    const draft = draftOf(place)
    try {
      const written = await writeTo(draft, 'wx', write)
      // The new file has the same readers as the old one.
      if (before !== undefined) await chmod(draft, before.mode & 0o777)
      await rename(draft, place)
      return written
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  })
}

function draftOf(place: string): string {
  return `${place}.${randomBytes(4).toString('hex')}.part`
}

async function statOf(path: string) {
  return stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

async function writeTo<T>(path: string, flags: string, write: (out: Writable) => Promise<T>): Promise<T> {
  const file = createWriteStream(path, { flags, mode: 0o600, flush: flags === 'wx' })
  const closed = finished(file)
  // The first failure is thrown below. This one must not end the process as an unhandled rejection.
  closed.catch(() => undefined)
  try {
    await once(file, 'open')
    const written = await write(file)
    file.end()
    await closed
    return written
  } catch (error) {
    file.destroy()
    throw error
  }
}

/** Throws STORE_FULL and CONFIG_INVALID in place of errors of the file system. */
export async function explained<T>(path: string, advice: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error
    const isFull = ['ENOSPC', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException).code ?? '')
    if (isFull)
      throw new TidemarkError('STORE_FULL', `${path} has no room (${error.message}): free space, and run the command again`, {
        cause: error,
      })
    throw new TidemarkError('CONFIG_INVALID', `${path} cannot be written: ${error.message}; ${advice}`, { cause: error })
  }
}
