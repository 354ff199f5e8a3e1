/** The progress of a listing in a file, so that a killed command can continue. The file is replaced as a whole and never half-written. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { TidemarkError } from '../../core/errors.ts'

export type Place = {
  /** Name of the file of viewers, and the businesses of the migration. */
  users: string
  businesses: readonly number[]
  /** All lines up to this one are done. */
  line: number
}

export type PlaceKeeper = { line: number; put(line: number): void }

/** Without a file, nothing is kept. Throws CONFIG_INVALID at once for a file of another migration, or one that cannot be written. */
export function keepPlace(file: string | undefined, users: string, businesses: readonly number[]): PlaceKeeper {
  if (file === undefined) return { line: 0, put() {} }
  if (file === '') throw new TidemarkError('CONFIG_INVALID', '--resume names no file: name one, or leave it out')
  const own = { users: basename(users), businesses }
  const found = readPlace(file)
  if (found !== undefined && (found.users !== own.users || String(found.businesses) !== String(businesses))) {
    throw new TidemarkError(
      'CONFIG_INVALID',
      `--resume ${file} is of another migration (${found.users}, businesses ${found.businesses.join(', ')}): name another file, or remove it to start again`,
    )
  }
  writing(file, () => {
    writeFileSync(`${file}.new`, '')
    rmSync(`${file}.new`)
  })
  return {
    line: found?.line ?? 0,
    put(line) {
      writing(file, () => {
        writeFileSync(`${file}.new`, JSON.stringify({ ...own, line }))
        renameSync(`${file}.new`, file)
      })
    },
  }
}

/** A lost file only costs time: a viewer who is listed twice is folded in once. */
function writing(file: string, write: () => void): void {
  try {
    write()
  } catch (error) {
    throw new TidemarkError(
      'CONFIG_INVALID',
      `--resume ${file} cannot be written (${(error as Error).message}): name a file in a folder that exists and may be written to`,
      { cause: error },
    )
  }
}

function readPlace(file: string): Place | undefined {
  if (!existsSync(file)) return undefined
  try {
    const { users, businesses, line } = JSON.parse(readFileSync(file, 'utf8')) as Place
    if (typeof users === 'string' && Array.isArray(businesses) && Number.isSafeInteger(line) && line >= 0)
      return { users, businesses, line }
  } catch {
    // Reported below.
  }
  throw new TidemarkError(
    'CONFIG_INVALID',
    `--resume ${file} has no progress of a migration: name another file, or remove it to start again`,
  )
}
