/**
 * Publishing from the outbox: the changes that a persist step applied to the record store, but did not pass on to the caches
 * and the events.
 */
import type { BusinessNumber, SubjectCounts } from '../../../core/domain.ts'
import type { MarkChanges, MarkRecords } from '../stores/record-store.ts'
import { newest, refreshCaches, tell, type Changed, type MarkPersistStores } from './persist.ts'

/** Changes told at once: each may hold as many marks as a transaction takes. */
const OUTBOX_MAX = 10
/** Numbers of what waits. More than these are others', or wait for a log that is down. */
const OUTBOX_SEEN_MAX = 100_000

/**
 * A round tells what was in the outbox when the round before ended: what is newer, the step that made it is about to tell
 * by itself. Returns how many changes were told.
 *
 * A transaction of the common stores may have been of several businesses, one of which has got stores of its own since, or has
 * moved to others. Its entry is told as a whole to the log that it was made for, the common one, and only ours go to our cache.
 * Who has stores of its own (`isTenant`), and shares the record store, leaves it alone.
 */
export function makePublisher(
  stores: MarkPersistStores,
  isOurs: (business: BusinessNumber) => boolean,
  isTenant = false,
): (mayGoOn: () => boolean) => Promise<number> {
  let seen: ReadonlySet<number> = new Set()
  return async (mayGoOn) => {
    let told = 0
    const isDue = ({ number, counts, owners }: MarkChanges): boolean => {
      const ours = [...counts, ...owners].map(({ business }) => isOurs(business))
      return seen.has(number) && (isTenant ? ours.every(Boolean) : ours.some(Boolean))
    }
    while (mayGoOn() && seen.size > 0) {
      const some = await publishOutbox(stores, OUTBOX_MAX, isDue, isOurs)
      told += some
      if (some < OUTBOX_MAX) break
    }
    seen = new Set(await stores.records.listOutboxNumbers(OUTBOX_SEEN_MAX))
    return told
  }
}

/**
 * Makes up for what steps left: the events get what the outbox holds, the caches what the record store has by now of what
 * `isOurs`. (What the outbox holds may be old, and a cache that has lost everything since would take it for the newest.) `isDue`
 * spares what a step under way is about to tell by itself, and what is another's to tell. Returns how many changes were told, up
 * to `limit`. Rejects with the code of the store that failed.
 */
export async function publishOutbox(
  stores: MarkPersistStores,
  limit: number,
  isDue: (changes: MarkChanges) => boolean,
  isOurs: (business: BusinessNumber) => boolean = () => true,
): Promise<number> {
  const due = await listDue(stores.records, limit, isDue)
  if (due.length === 0) return 0
  await refreshCaches(stores.cache, [await current(stores.records, due, isOurs)])
  await tell(stores, due)
  return due.length
}

/** What these changes concern, as it is now. */
async function current(
  records: MarkRecords,
  changes: readonly MarkChanges[],
  isOurs: (business: BusinessNumber) => boolean,
): Promise<Changed> {
  const subjects = newest(
    changes.flatMap((each) => each.counts.filter(({ business }) => isOurs(business)).map(({ business, oid }) => ({ business, oid }))),
    ({ business, oid }) => `${business}:${oid}`,
    () => 0,
  )
  const owners = newest(
    changes.flatMap((each) => each.owners.filter(({ business }) => isOurs(business)).map(({ business, owner }) => ({ business, owner }))),
    ({ business, owner }) => `${business}:${owner}`,
    () => 0,
  )
  const counts = subjects.length === 0 ? [] : await records.getCountsMany(subjects)
  return {
    counts: subjects.map((subject, index) => ({ ...subject, counts: counts[index] as SubjectCounts })),
    owners: owners.length === 0 ? [] : await records.getOwnerSums(owners),
  }
}

/** Changes that are not due, however many, must not hide those behind them; nor be in memory together with them. */
async function listDue(records: MarkRecords, limit: number, isDue: (changes: MarkChanges) => boolean): Promise<MarkChanges[]> {
  const due: MarkChanges[] = []
  for (let after = 0; ;) {
    const page = await records.listOutbox(limit, after)
    due.push(...page.filter(isDue))
    const last = page.at(-1)
    if (last === undefined || page.length < limit || due.length >= limit) return due.slice(0, limit)
    after = last.number
  }
}
