/** A database whose schema was checked before anything else is asked of it. */
import type { Clock } from '../../core/clock.ts'
import { isTidemarkError } from '../../core/errors.ts'
import { type Database, type MysqlOptions, openDatabase } from './database.ts'
import { checkSchema } from './schema-version.ts'

export type CheckedOptions = MysqlOptions & {
  /** Shards of viewers of this deployment; another count than the database's is refused. */
  regions: number
}

/**
 * Rejects with DATA_INCOMPATIBLE if the schema is missing, old or newer, or of another region count, and with
 * CONFIG_INVALID if the options are wrong or the server refuses us. A server that does not answer is no reason not to
 * start: calls reject with RECORD_STORE_UNAVAILABLE until the server is there and was checked.
 */
export async function openCheckedDatabase(options: CheckedOptions, clock: Clock): Promise<Database> {
  const database = openDatabase(clock, options)
  let checked: Promise<void> | undefined

  /** Checks the schema once; again at the next call if the server could not be asked. */
  function ready(): Promise<void> {
    checked ??= checkSchema(database, options.regions).catch((error: unknown) => {
      checked = undefined
      throw error
    })
    return checked
  }

  try {
    await ready()
  } catch (error) {
    if (!isTidemarkError(error) || error.code !== 'RECORD_STORE_UNAVAILABLE') {
      await database.close()
      throw error
    }
  }
  return {
    ...database,
    async send(sql, timeoutMs) {
      await ready()
      return database.send(sql, timeoutMs)
    },
    async session(work) {
      await ready()
      return database.session(work)
    },
  }
}
