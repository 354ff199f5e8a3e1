/**
 * Writes a file as a whole or not at all: beside its place under a name of its own, synced, and then renamed to it, so that
 * whatever fails, and whoever is killed, leaves the file that was there. What is no file (a pipe, /dev/stdout) is written to.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { chmod, realpath, rename, rm, stat } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { TidemarkError } from '../../core/errors.ts'

/** Bytes that are in the file now; 0 if there is none. Throws CONFIG_INVALID. */
export async function bytesIn(path: string): Promise<number> {
  return explained(path, async () => (await statOf(path))?.size ?? 0)
}

/** What `write` throws, after the file has been left as it was; CONFIG_INVALID if it cannot be written. */
export async function writeWholeFile<T>(path: string, write: (out: Writable) => Promise<T>): Promise<T> {
  return explained(path, async () => {
    const before = await statOf(path)
    if (before !== undefined && !before.isFile()) return writeTo(path, 'w', write)
    // Of a link it is the file that is replaced.
    const place = before === undefined ? path : await realpath(path)
    const draft = `${place}.${randomBytes(4).toString('hex')}.part`
    try {
      const written = await writeTo(draft, 'wx', write)
      // Who was not to read the old one is not to read this.
      if (before !== undefined) await chmod(draft, before.mode & 0o777)
      await rename(draft, place)
      return written
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  })
}

async function statOf(path: string) {
  return stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

async function writeTo<T>(path: string, flags: string, write: (out: Writable) => Promise<T>): Promise<T> {
  const file = createWriteStream(path, { flags, flush: flags === 'wx' })
  const closed = finished(file)
  // Whatever fails first says why; the other must not end the process unheard.
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

async function explained<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error
    throw new TidemarkError('CONFIG_INVALID', `${path} cannot be written: ${error.message}; name another file with --out`, { cause: error })
  }
}
