/** What a viewer's history knows of a month: what a filter that is damaged is made anew from. */
import type { BusinessNumber, Month, Subject, ViewerId } from '../../core/domain.ts'
import { beginningOf } from '../../core/time-ring.ts'
import type { RecordStore } from '../../stores/record-store.ts'

const PAGE = 1_000
/** More than this nobody watches in a month. */
const PAGES_MAX = 100

/**
 * History has the newest visit of each subject: what was watched in a month and again in a later one is in the later month's
 * filter. `businesses`: of which there is a history.
 */
export function makeRebuild(
  history: Pick<RecordStore, 'listProgress'>,
  businesses: readonly BusinessNumber[],
): (viewer: ViewerId, month: Month) => Promise<Subject[]> {
  return async (viewer, month) => {
    const known: Subject[] = []
    let before = { viewedAt: beginningOf(month + 1), business: 0, oid: '' }
    for (let page = 0; page < PAGES_MAX; page++) {
      const entries = await history.listProgress(viewer, businesses, before, PAGE)
      const inMonth = entries.filter(({ record }) => record.viewedAt >= beginningOf(month) && record.viewedAt < beginningOf(month + 1))
      known.push(...inMonth.map(({ business, oid }) => ({ business, oid })))
      const last = entries.at(-1)
      if (last === undefined || entries.length < PAGE || last.record.viewedAt < beginningOf(month)) break
      before = { viewedAt: last.record.viewedAt, business: last.business, oid: last.oid }
    }
    return known
  }
}
