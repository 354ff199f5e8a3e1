/** Publishes from the outbox: changes that a persist step applied to the record store, but did not pass on to the caches and the events. */
import type { BusinessNumber, SubjectCounts } from '../../../core/domain.ts'
import type { MarkChanges, MarkRecords } from '../stores/record-store.ts'
import { newest, publish, refreshCaches, type Changed, type MarkPersistStores } from './persist.ts'

/** Changes in memory at once. Each may hold as many marks as a transaction takes. */
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
    const isDue = ({ number, counts, owners }: MarkChanges): boolean => {
      const ours = [...counts, ...owners].map(({ business }) => isOurs(business))
      return seen.has(number) && (isTenant ? ours.every(Boolean) : ours.some(Boolean))
    }
    const published = seen.size === 0 ? 0 : await publishOutbox(stores, isDue, isOurs, mayGoOn)
    seen = new Set(await stores.records.listOutboxNumbers(OUTBOX_SEEN_MAX))
    return published
  }
}

/** The whole outbox, a few changes at a time. Published changes may be dropped meanwhile. */
export async function* pagesOfOutbox(records: Pick<MarkRecords, 'listOutbox'>): AsyncGenerator<MarkChanges[]> {
  for (let after = 0; ;) {
    const page = await records.listOutbox(OUTBOX_MAX, after)
    const last = page.at(-1)
    if (last === undefined) return
    after = last.number
    yield page
  }
}

/**
 * Completes the work of earlier steps, page by page. The events get the content of the outbox. The caches get the current values of `isOurs`
 * from the record store. Values in the outbox may be old, and a cache that lost everything would keep them as the newest.
 *
 * `isDue` skips entries that a running step is about to publish, and entries of other jobs. Returns the number of published changes.
 * Rejects with the code of the store that failed.
 */
export async function publishOutbox(
  stores: MarkPersistStores,
  isDue: (changes: MarkChanges) => boolean,
  isOurs: (business: BusinessNumber) => boolean = () => true,
  mayGoOn: () => boolean = () => true,
): Promise<number> {
  let published = 0
  for await (const page of pagesOfOutbox(stores.records)) {
    if (!mayGoOn()) break
    const due = page.filter(isDue)
    if (due.length === 0) continue
    await refreshCaches(stores.cache, [await current(stores.records, due, isOurs)])
    await publish(stores, due)
    published += due.length
  }
  return published
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
