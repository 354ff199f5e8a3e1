/** A database whose schema was checked before anything else is asked of it. */
import type { Clock } from '../../core/clock.ts'
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { type Database, type MysqlOptions, openDatabase } from './database.ts'
import { isMissingTable } from './failures.ts'
import { checkSchema } from './schema-version.ts'

export type CheckedOptions = MysqlOptions & {
  /** Shards of viewers of this deployment; another count than the database's is refused. */
  regions: number
  /**
   * True: one that refuses us, or whose schema does not fit, counts as down until somebody has mended it, instead of ending a
   * start. For a database that some share and others do without. Default false.
   */
  mayBeUnfit?: boolean
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
    checked ??= checkSchema(database, options.regions).catch(unchecked)
    return checked
  }

  function unchecked(error: unknown): never {
    checked = undefined
    if (options.mayBeUnfit !== true || !isTidemarkError(error) || !UNFIT.has(error.code)) throw error
    throw new TidemarkError('RECORD_STORE_UNAVAILABLE', error.message, { cause: error })
  }

  /** Somebody may drop or migrate a schema at any time: then it is looked at again. */
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
