/**
 * Transactions on connections of the pool. A transaction that lost against another one is rolled back and repeated from
 * its beginning. Such a loss is a deadlock, a lock timeout, or a row that another transaction inserted meanwhile. `work`
 * must therefore be a function of what it reads. Any other failure rolls back and rejects.
 *
 * A lost answer to COMMIT leaves the outcome open: all or nothing was executed. The transaction then rejects as
 * unavailable, and the caller repeats it. The same holds after a statement timeout: the connection is closed, and the
 * server rolls back when it notices. Until then the server holds the locks.
 */
import { type Clock, sleep } from '../../core/clock.ts'
import type { Random } from '../../core/random.ts'
import type { Database, Session } from './database.ts'
import { endsConnection, isContention, isDuplicate } from './failures.ts'
import { BEGIN, BEGIN_SNAPSHOT, COMMIT, ROLLBACK } from './statements.ts'

export type Transactions = {
  change<T>(work: (session: Session) => Promise<T>): Promise<T>
  /** All reads of `work` see one snapshot. */
  snapshot<T>(work: (session: Session) => Promise<T>): Promise<T>
  /** Changes that were repeated. */
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
        // A transaction must not stay open on a connection that returns to the pool. An unusable connection is closed, which also rolls
        // back.
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
