/**
 * Keeps the count cache equal to the record store, from any source of changes: the service's own events, or the tail of a database's log.
 * Counts have versions, so their source, number and order do not matter. A source without versions, such as a tail that only sees changed
 * rows, has the counts read.
 */
import type { Subject, SubjectCounts, CountedSubject } from '../../../core/domain.ts'
import type { CountCache } from '../stores/count-cache.ts'
import type { MarkRecords } from '../stores/record-store.ts'
import { subjectText, type CountReads } from '../../../loaders/counts.ts'

export type CountRefresh = {
  /** Puts the newest counts of each subject into the cache, unless newer ones are there. Rejects with HOT_STORE_UNAVAILABLE. */
  apply(events: readonly (Subject & { counts: SubjectCounts })[]): Promise<void>
  /** Reads the counts of these subjects and puts them into the cache. Rejects with the code of the store that failed. */
  reload(subjects: readonly Subject[]): Promise<void>
  /** Counts that were put into the cache. */
  refreshed(): number
}

export function makeCountRefresh(
  cache: Pick<CountCache, 'putCounts'>,
  records: Pick<MarkRecords, 'getCountsMany'>,
  local: Pick<CountReads, 'learn'>,
): CountRefresh {
  let refreshed = 0

  async function apply(events: readonly (Subject & { counts: SubjectCounts })[]): Promise<void> {
    const newest = new Map<string, CountedSubject>()
    for (const { business, oid, counts } of events) {
      const text = subjectText({ business, oid })
      const before = newest.get(text)
      if (before === undefined || before.counts.version < counts.version) newest.set(text, { business, oid, counts })
    }
    if (newest.size === 0) return
    const counted = [...newest.values()]
    await cache.putCounts(counted)
    local.learn(counted)
    refreshed += counted.length
  }

  return {
    apply,
    async reload(subjects) {
      const distinct = [...new Map(subjects.map((subject) => [subjectText(subject), subject])).values()]
      if (distinct.length === 0) return
      const counts = await records.getCountsMany(distinct)
      await apply(distinct.map(({ business, oid }, index) => ({ business, oid, counts: counts[index] as SubjectCounts })))
    },
    refreshed: () => refreshed,
  }
}
