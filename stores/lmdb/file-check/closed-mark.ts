/**
 * `tidemark.mdb-closed` beside the data file records the file at the last clean close: its last transaction and its size.
 *
 * The mark has two uses. If both values still match, LMDB left the file in this state. A folder with the mark has also held data, so that a
 * missing or empty data file is damage there, and a new deployment elsewhere. The first commit of a new file writes the mark too. Nothing
 * depends on its newest version: after an old, missing or unreadable mark the next start only walks longer.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { FILE_MODE } from '../make-folder.ts'

export type ClosedMark = { transaction: number; bytes: number }

const SUFFIX = '-closed'

/** 'unreadable': the mark exists, so the folder has held data. */
export function readClosedMark(file: string): ClosedMark | 'unreadable' | undefined {
  let text: string
  try {
    text = readFileSync(file + SUFFIX, 'utf8')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : 'unreadable'
  }
  try {
    const { transaction, bytes } = JSON.parse(text) as Partial<ClosedMark>
    return Number.isSafeInteger(transaction) && Number.isSafeInteger(bytes) ? ({ transaction, bytes } as ClosedMark) : 'unreadable'
  } catch {
    return 'unreadable'
  }
}

/** A full disk must not keep a store from closing, so a failure is ignored. */
export function writeClosedMark(file: string, mark: ClosedMark): void {
  const path = file + SUFFIX
  try {
    // Processes that share the folder may close at the same moment.
    const partial = `${path}.${process.pid}`
    writeFileSync(partial, `${JSON.stringify(mark)}\n`, { mode: FILE_MODE })
    renameSync(partial, path)
  } catch {
    // See above.
  }
}
