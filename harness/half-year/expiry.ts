/** The filters of the first month, which expire during the half year. */
import type { Month } from '../../core/domain.ts'
import { HOUR_MS, beginningOf, monthOf } from '../../subgraphs/feed-existence/model/time-ring.ts'
import type { HalfYear } from './half-year.ts'
import { START } from './plan.ts'

const PURGE_MAX = 500
const FIRST_MONTH = monthOf(START)
/** The last filter of a night expires before it, and is purged within the hour. */
const IDLE_UNTIL_HOUR = 5

/** The purged filters, the expected number, those purged before their month or outside idle hours, and those left. */
export type Expiry = { purged: number; expected: number; outside: number; after: number }

export function makeExpiry({ time, stores, truth }: HalfYear) {
  const purged = { purged: 0, outside: 0 }

  async function purge(): Promise<void> {
    for (let gone = PURGE_MAX; gone > 0;) {
      gone = await stores.records.purgeExpired(time.now, PURGE_MAX)
      purged.purged += gone
      if (time.now < beginningOf(FIRST_MONTH + 6) || new Date(time.now).getUTCHours() > IDLE_UNTIL_HOUR) purged.outside += gone
    }
  }

  /** Runs until the end of the month in which the first month's filters expire. */
  async function expire(): Promise<Expiry> {
    for (; time.now < beginningOf(FIRST_MONTH + 7); time.now += HOUR_MS) await purge()
    const expected = truth.viewers().filter((viewer) => truth.hasPlayedIn(viewer, FIRST_MONTH)).length
    return { ...purged, expected, after: await countFilters(FIRST_MONTH) }
  }

  async function countFilters(month: Month): Promise<number> {
    const all = truth.viewers()
    let count = 0
    for (let at = 0; at < all.length; at += PURGE_MAX) {
      const found = await stores.records.getFilters(all.slice(at, at + PURGE_MAX).map((viewer) => ({ viewer, month })))
      count += found.filter((each) => each !== undefined).length
    }
    return count
  }

  return { purge, expire }
}
