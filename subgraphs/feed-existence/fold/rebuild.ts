/** Reads a viewer's plays of a month from history, to rebuild a damaged filter. */
import type { Businesses } from '../../../config/businesses.ts'
import type { Month, Subject, ViewerId } from '../../../core/domain.ts'
import { beginningOf } from '../model/time-ring.ts'
import type { HistoryRecords } from '../stores/history-records.ts'
import { isPlayed } from '../../played.ts'

const PAGE = 1_000
/** No viewer watches more than this in the months in use. */
const PAGES_MAX = 400

/**
 * History has only the newest visit of each subject: a subject watched in a month and again in a later one is listed in the later one. The
 * rebuild therefore takes everything since the beginning of the month. A subject watched only later is then in one more filter, where it
 * hides nothing new. Glances are not plays, as in the persist step of history.
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
