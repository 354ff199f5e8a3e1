/** Changes of rows that other statements may hold: a statement that loses is sent again after a moment. */
import { sleep, type Clock } from '../../core/clock.ts'
import type { Random } from '../../core/random.ts'
import type { Database } from './database.ts'
import { isContention } from './failures.ts'

const TRIES_MAX = 8
const RETRY_MS = 10

/** Resolves with the number of affected rows. `onRetry` is called before each repetition. */
export function makeContendedChange(
  database: Pick<Database, 'send'>,
  clock: Clock,
  random: Random,
  onRetry?: () => void,
): (sql: string) => Promise<number> {
  return async (sql) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return (await database.send(sql)).affected
      } catch (error) {
        if (!isContention(error) || tries >= TRIES_MAX) throw error
        onRetry?.()
        await sleep(clock, RETRY_MS * 2 ** tries * random())
      }
    }
  }
}
