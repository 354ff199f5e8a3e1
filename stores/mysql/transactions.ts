/**
 * Transactions on connections of the pool. A change that lost against another one (a deadlock, a lock that was not given
 * in time, a row that another transaction has inserted since we looked) is undone and done again from its beginning, so
 * its work must be a function of what it reads. What fails otherwise is undone and rejects.
 *
 * An answer to COMMIT that never came says nothing: the change rejects as not available, was executed as a whole or not
 * at all, and the caller repeats it. So is one whose statement timed out: its connection is given up, and the server
 * undoes what was not committed when it notices, its locks being held until then.
 */
import { type Clock, sleep } from '../../core/clock.ts'
import type { Random } from '../../core/random.ts'
import type { Database, Session } from './database.ts'
import { endsConnection, isContention, isDuplicate } from './failures.ts'
import { BEGIN, BEGIN_SNAPSHOT, COMMIT, ROLLBACK } from './statements.ts'

export type Transactions = {
  change<T>(work: (session: Session) => Promise<T>): Promise<T>
  /** All that `work` reads is as of one moment. */
  snapshot<T>(work: (session: Session) => Promise<T>): Promise<T>
  /** Changes that were done again. */
  retries(): number
}

const TRIES_MAX = 8
const RETRY_MS = 10

export function makeTransactions(database: Database, clock: Clock, random: Random): Transactions {
  let retries = 0

  function transaction<T>(begin: readonly string[], work: (session: Session) => Promise<T>): Promise<T> {
    return database.session(async (session) => {
      try {
        for (const statement of begin) await session.send(statement)
        const result = await work(session)
        await session.send(COMMIT)
        return result
      } catch (error) {
        // Nothing of ours may stay open on a connection that goes back to the pool. One that cannot be used is closed, which undoes as well.
        if (!endsConnection(error)) await session.send(ROLLBACK)
        throw error
      }
    })
  }

  return {
    async change(work) {
      for (let tries = 1; ; tries += 1) {
        try {
          return await transaction([BEGIN], work)
        } catch (error) {
          if (!(isContention(error) || isDuplicate(error)) || tries >= TRIES_MAX) throw error
          retries += 1
          await sleep(clock, RETRY_MS * 2 ** tries * random())
        }
      }
    },
    snapshot: (work) => transaction(BEGIN_SNAPSHOT, work),
    retries: () => retries,
  }
}
