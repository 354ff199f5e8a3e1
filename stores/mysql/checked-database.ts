/** A database whose schema is checked before any other statement. */
import type { Clock } from '../../core/clock.ts'
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { type Database, type MysqlOptions, openDatabase } from './database.ts'
import { isMissingTable } from './failures.ts'
import { checkSchema } from './schema-version.ts'

export type CheckedOptions = MysqlOptions & {
  /** Number of regions of this deployment; a database with another number is rejected. */
  regions: number
  /**
   * True: a database that rejects the credentials, or whose schema does not match, counts as down until an operator has repaired it,
   * instead of preventing a start. For a database that only some businesses use. Default false.
   */
  mayBeUnfit?: boolean
}

/**
 * Rejects with DATA_INCOMPATIBLE if the schema is missing, old or newer, or has another region count, and with CONFIG_INVALID if the
 * options are wrong or the server rejects the credentials. A server that does not answer does not prevent the start: calls reject with
 * RECORD_STORE_UNAVAILABLE until the server answers and has been checked.
 */
export async function openCheckedDatabase(options: CheckedOptions, clock: Clock): Promise<Database> {
  const database = openDatabase(clock, options)
  let checked: Promise<void> | undefined

  /** Checks the schema once, and again at the next call if the server did not answer. */
  function ready(): Promise<void> {
    checked ??= checkSchema(database, options.regions).catch(unchecked)
    return checked
  }

  function unchecked(error: unknown): never {
    checked = undefined
    if (options.mayBeUnfit !== true || !isTidemarkError(error) || !UNFIT.has(error.code)) throw error
    throw new TidemarkError('RECORD_STORE_UNAVAILABLE', error.message, { cause: error })
  }

  /** The schema may be dropped or migrated at any time; it is then checked again. */
  function onceReady<T>(work: () => Promise<T>): Promise<T> {
    return ready().then(() => work().catch((error: unknown) => (isMissingTable(error) ? unchecked(error) : Promise.reject(error))))
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
    send: (sql, timeoutMs) => onceReady(() => database.send(sql, timeoutMs)),
    session: (work) => onceReady(() => database.session(work)),
  }
}

const UNFIT: ReadonlySet<string> = new Set(['CONFIG_INVALID', 'DATA_INCOMPATIBLE'])
