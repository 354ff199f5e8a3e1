/** What a viewer's history knows of a month: what a filter that is damaged is made anew from. */
import type { Businesses } from '../../../config/businesses.ts'
import type { Month, Subject, ViewerId } from '../../../core/domain.ts'
import { beginningOf } from '../model/time-ring.ts'
import type { HistoryRecords } from '../stores/history-records.ts'
import { isPlayed } from '../write/from-history.ts'

const PAGE = 1_000
/** More than this nobody watches in the months that are read. */
const PAGES_MAX = 400

/**
 * History has the newest visit of each subject only: what was watched in a month and again in a later one stands in the later
 * one. So everything since the beginning of the month is taken. What was watched later alone is then in one filter more, in
 * which it hides nothing that it does not hide already. What was only glanced at is no play, as it is none when history persists it.
 */
export function makeRebuild(
  history: Pick<HistoryRecords, 'listProgress'>,
  businesses: Pick<Businesses, 'numbers' | 'byNumber'>,
): (viewer: ViewerId, month: Month) => Promise<Subject[]> {
  return async (viewer, month) => {
    const known: Subject[] = []
    const since = beginningOf(month)
    let before: Parameters<HistoryRecords['listProgress']>[2]
    for (let page = 0; page < PAGES_MAX; page++) {
      const entries = await history.listProgress(viewer, businesses.numbers, before, PAGE)
      for (const { business, oid, record } of entries)
        if (record.viewedAt >= since && isPlayed(record, businesses.byNumber(business))) known.push({ business, oid })
      const last = entries.at(-1)
      if (last === undefined || entries.length < PAGE || last.record.viewedAt < since) break
      before = { viewedAt: last.record.viewedAt, business: last.business, oid: last.oid }
    }
    return known
  }
}
