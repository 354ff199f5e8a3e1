/** Publishes from the outbox: changes that a persist step applied to the record store, but did not pass on to the caches and the events. */
import type { BusinessNumber, SubjectCounts } from '../../../core/domain.ts'
import type { MarkChanges, MarkRecords } from '../stores/record-store.ts'
import { newest, publish, refreshCaches, type Changed, type MarkPersistStores } from './persist.ts'

/** Changes per publication. Each may hold as many marks as a transaction takes. */
const OUTBOX_MAX = 10
/** The most entries of the outbox that a round remembers. Further entries are other jobs', or wait for a log that is down. */
const OUTBOX_SEEN_MAX = 100_000

/**
 * Each round publishes the entries that were already in the outbox at the end of the previous round. The step that made a newer entry is
 * about to publish it. Returns the number of published changes.
 *
 * A transaction of the common stores may cover several businesses, and one of them may have moved to other stores since. Its entry is
 * published as a whole to the common log, for which it was made. Only our counts go to our cache. A tenant (`isTenant`) that shares the
 * record store leaves such entries alone.
 */
export function makePublisher(
  stores: MarkPersistStores,
  isOurs: (business: BusinessNumber) => boolean,
  isTenant = false,
): (mayGoOn: () => boolean) => Promise<number> {
  let seen: ReadonlySet<number> = new Set()
  return async (mayGoOn) => {
    let published = 0
    const isDue = ({ number, counts, owners }: MarkChanges): boolean => {
      const ours = [...counts, ...owners].map(({ business }) => isOurs(business))
      return seen.has(number) && (isTenant ? ours.every(Boolean) : ours.some(Boolean))
    }
    while (mayGoOn() && seen.size > 0) {
      const some = await publishOutbox(stores, OUTBOX_MAX, isDue, isOurs)
      published += some
      if (some < OUTBOX_MAX) break
    }
    seen = new Set(await stores.records.listOutboxNumbers(OUTBOX_SEEN_MAX))
    return published
  }
}

/**
 * Completes the work of earlier steps: the events get the content of the outbox, and the caches get the current values of `isOurs` from the
 * record store. The values in the outbox may be old, and a cache that lost everything would keep them as the newest.
 *
 * `isDue` skips entries that a running step is about to publish, and entries of other jobs. Returns the number of published changes, at
 * most `limit`. Rejects with the code of the store that failed.
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
  await publish(stores, due)
  return due.length
}

/** The current counts and sums of the changed subjects and owners. */
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

/** Entries that are not due must not hide due entries behind them, and must not all be in memory at once. */
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
