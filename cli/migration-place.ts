/** How far a listing of viewers came, in a file: so that one that was killed goes on there. Replaced as a whole, so never half-written. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { TidemarkError } from '../core/errors.ts'

export type Place = {
  /** The name of the file of viewers, and the businesses that it is listed for. */
  users: string
  businesses: readonly number[]
  /** All lines up to this one are done. */
  line: number
}

export type PlaceKeeper = { line: number; put(line: number): void }

/** Without a file nothing is kept. Throws CONFIG_INVALID for one of another migration. */
export function keepPlace(file: string | undefined, users: string, businesses: readonly number[]): PlaceKeeper {
  if (file === undefined) return { line: 0, put() {} }
  const own = { users: basename(users), businesses }
  const found = readPlace(file)
  if (found !== undefined && (found.users !== own.users || String(found.businesses) !== String(businesses))) {
    throw new TidemarkError(
      'CONFIG_INVALID',
      `--resume ${file} is of another migration (${found.users}, businesses ${found.businesses.join(', ')}): name another file, or remove it to begin`,
    )
  }
  return {
    line: found?.line ?? 0,
    put(line) {
      writeFileSync(`${file}.new`, JSON.stringify({ ...own, line }))
      renameSync(`${file}.new`, file)
    },
  }
}

function readPlace(file: string): Place | undefined {
  if (!existsSync(file)) return undefined
  try {
    const { users, businesses, line } = JSON.parse(readFileSync(file, 'utf8')) as Place
    if (typeof users === 'string' && Array.isArray(businesses) && Number.isSafeInteger(line) && line >= 0)
      return { users, businesses, line }
  } catch {
    // Said below.
  }
  throw new TidemarkError(
    'CONFIG_INVALID',
    `--resume ${file} does not say how far a migration came: name another file, or remove it to begin`,
  )
}
