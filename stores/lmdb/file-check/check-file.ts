/**
 * Checks the data file before LMDB maps it, because LMDB trusts the mapped pages. Random meta pages, a truncated file or a damaged branch
 * page end the process by SIGSEGV or SIGBUS, and no message could be printed then.
 *
 * There are three checks, from cheap to expensive: the size and the meta pages; the mark of the last clean close (closed-mark.ts); a walk
 * over all trees (walk.ts), 0.5 s per GB in the page cache. The walk ends after `WALK_MAX_MS`, or sooner if the file is unchanged since a
 * clean close.
 *
 * A process that is killed at any moment leaves a sound file: a commit writes new pages only, and then one meta page. A crash of Tidemark
 * therefore never causes damage.
 *
 * Another process may write meanwhile (a worker's primary, or the service while an operator checks). LMDB reuses no page of a snapshot
 * before the second commit after it. Damage therefore counts only if at most one commit came in between. A file that
 * changes during every walk is in use by a process that reads it. Then only its meta pages are judged.
 */
import { appendFileSync, closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { dirname } from 'node:path'
import { TidemarkError } from '../../../core/errors.ts'
import { unusableFolder } from '../make-folder.ts'
import { readClosedMark, writeClosedMark, type ClosedMark } from './closed-mark.ts'
import { Damage, IS_LITTLE, readFirstMeta, readSnapshot, viewOf, type ReadAt, type Snapshot } from './meta-pages.ts'
import { walkTrees } from './walk.ts'

const WALK_MAX_MS = { closed: 2_000, killed: 20_000 }
/** Checks a file that another process may be writing. */
const TRIES = 3
/** Pages that a transaction took and freed again are not written: the file may end before its last page. */
const UNWRITTEN_BYTES_MAX = 2 ** 32
const READ_BYTES = 2 ** 20

/** Throws DATA_DAMAGED, or CONFIG_INVALID if the file cannot be read. A file never written is sound, unless its folder has held data. */
export function checkDataFile(file: string): void {
  const mark = readClosedMark(file)
  const sentence = readFile(file, (readAt, bytes) => {
    if (bytes === 0) return mark === undefined ? undefined : 'it is missing or empty, and this folder has held data'
    const missing = mark === undefined ? missingOfNew(readAt, bytes) : undefined
    if (missing !== undefined) {
      appendFileSync(file, missing)
      return undefined
    }
    return findDamage(readAt, bytes, mark === 'unreadable' ? undefined : mark)
  })
  if (sentence === undefined) return
  throw new TidemarkError(
    'DATA_DAMAGED',
    `${file} is damaged: ${sentence}. Restore its folder from a backup, or move the folder away to start without its data`,
  )
}

/** Records the state of the file after a clean close. */
export function markClosed(file: string): void {
  try {
    const mark = readFile(file, (readAt, bytes) => (bytes === 0 ? undefined : { transaction: readSnapshot(readAt).transaction, bytes }))
    if (mark !== undefined) writeClosedMark(file, mark)
  } catch {
    // The next start then walks longer.
  }
}

/**
 * Records that the folder holds data from now on. It replaces the mark of a later file than this one, which was restored from a backup:
 * this file may pass that transaction with fewer bytes.
 */
export function markOpened(file: string): void {
  const mark = readClosedMark(file)
  if (mark === undefined || mark === 'unreadable' || isOlderThan(file, mark)) markClosed(file)
}

function isOlderThan(file: string, { transaction }: ClosedMark): boolean {
  try {
    return readFile(file, (readAt) => readSnapshot(readAt).transaction < transaction)
  } catch {
    return false
  }
}

/** `bytes`: size of the file. A sentence on what is wrong. */
export function findDamage(readAt: ReadAt, bytes: number, mark: ClosedMark | undefined): string | undefined {
  let sentence: string | undefined
  let snapshot: Snapshot | undefined
  for (let tries = 0; tries < TRIES; tries++) {
    snapshot = undefined
    try {
      snapshot = readSnapshot(readAt)
      checkSnapshot(readAt, bytes, snapshot, mark)
      return undefined
    } catch (error) {
      sentence = sentenceOf(error)
      const isCurrent = snapshot !== undefined && readSnapshot(readAt).transaction <= snapshot.transaction + 1
      if (isCurrent) return sentence
    }
  }
  return snapshot === undefined ? sentence : undefined
}

function checkSnapshot(readAt: ReadAt, bytes: number, snapshot: Snapshot, mark: ClosedMark | undefined): void {
  const { transaction, lastPage, pageBytes } = snapshot
  if (lastPage * pageBytes > bytes + UNWRITTEN_BYTES_MAX) throw new Damage(`it has ${bytes} bytes, and page ${lastPage} for its last`)
  const isOlder = mark === undefined || transaction < mark.transaction
  if (!isOlder && bytes < mark.bytes) throw new Damage(`it has ${bytes} bytes, and had ${mark.bytes} when it was closed`)
  const asClosed = !isOlder && transaction === mark.transaction && bytes === mark.bytes
  const end = performance.now() + (asClosed ? WALK_MAX_MS.closed : WALK_MAX_MS.killed)
  walkTrees(readAt, snapshot, () => performance.now() > end)
}

/**
 * A process was killed while LMDB made the file: the file has the first of two meta pages and no commit. Returns the missing bytes, as
 * LMDB would have written them: the same page as page 1. The caller must append them and remove nothing, because a live process may have
 * completed the file in the meantime and hold data in it. The appended bytes then lie behind its last page, where LMDB does not read.
 */
function missingOfNew(readAt: ReadAt, bytes: number): Buffer | undefined {
  try {
    const { transaction, pageBytes } = readFirstMeta(readAt)
    if (transaction !== 0 || bytes >= 2 * pageBytes) return undefined
    const pages = Buffer.alloc(2 * pageBytes)
    for (const at of [0, pageBytes]) readAt(0, Math.min(bytes, pageBytes)).copy(pages, at)
    viewOf(pages).setBigUint64(pageBytes, 1n, IS_LITTLE)
    return pages.subarray(bytes)
  } catch {
    return undefined
  }
}

function sentenceOf(error: unknown): string {
  if (error instanceof Damage) return error.message
  // The disk cannot read a block back.
  if ((error as NodeJS.ErrnoException).code === 'EIO') return `it cannot be read (${(error as Error).message})`
  throw error
}

/** A missing file has 0 bytes. */
function readFile<T>(file: string, look: (readAt: ReadAt, bytes: number) => T): T {
  const descriptor = openIfThere(file)
  if (descriptor === undefined) return look(() => Buffer.alloc(0), 0)
  let buffer = Buffer.alloc(0)
  try {
    return look((position, bytes) => {
      if (buffer.length < bytes) buffer = Buffer.allocUnsafeSlow(Math.max(bytes, READ_BYTES))
      return buffer.subarray(0, readSync(descriptor, buffer, 0, bytes, position))
    }, fstatSync(descriptor).size)
  } finally {
    closeSync(descriptor)
  }
}

function openIfThere(file: string): number | undefined {
  try {
    return openSync(file, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw unusableFolder(dirname(file), error)
  }
}
