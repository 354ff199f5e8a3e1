/**
 * Brings a viewer's marks of a business into the hot store. All reads and writes of that viewer are answered from there afterwards. One
 * fill per viewer and business is in flight at a time, for all callers.
 *
 * Joining a fill in flight is correct because no caller uses its rows as the answer: each caller reads the hot store again. The hot store
 * rejects the rows if a mark of this viewer left it since the fill began, and keeps the marks that it has. The rows may therefore be
 * outdated, but the answers are not.
 *
 * A full hot store accepts no rows. That is not an error: missing marks are read from the record store.
 */
import { DamagedMarks } from '../subgraphs/thumbup/model/damaged-marks.ts'
import { saysFull } from '../core/outage/degraded.ts'
import type { BusinessNumber } from '../core/domain.ts'
import { saysDamaged } from '../core/errors.ts'
import type { MarkRecords } from '../subgraphs/thumbup/stores/record-store.ts'
import type { MarkOwner, MarkStore, ReadStart } from '../subgraphs/thumbup/stores/hot-store.ts'

export type Fills = {
  /** Rejects with the code of the store that failed. It may have filled nothing: read the hot store again. */
  bring(of: MarkOwner): Promise<void>
  /** Resolves when no fill is in flight. A fill may outlive its caller, if another awaited fill failed first. */
  settled(): Promise<void>
  /** The number of fills. */
  count(): number
}

export function makeFills(
  hot: Pick<MarkStore, 'beginReads' | 'fillMarks'>,
  records: Pick<MarkRecords, 'listMarks'>,
  capOf: (business: BusinessNumber) => number,
): Fills {
  const underWay = new Map<string, Promise<void>>()
  let made = 0

  async function fillNow({ viewer, business }: MarkOwner): Promise<void> {
    const cap = capOf(business)
    const [{ asOf }] = (await hot.beginReads([{ viewer, business }])) as [ReadStart]
    const rows = await records.listMarks(viewer, business, ['LIKE', 'DISLIKE'], undefined, cap + 1).catch((error: unknown) => {
      // A caller that waits for several viewers needs to know whose marks are damaged.
      throw saysDamaged(error) ? new DamagedMarks([{ viewer, business }], error) : error
    })
    await hot.fillMarks(viewer, business, rows.slice(0, cap), { cap, asOf, whole: rows.length <= cap })
    made++
  }

  return {
    bring(of) {
      const text = viewerBusinessText(of)
      const found = underWay.get(text)
      if (found !== undefined) return found
      const filling = fillNow(of)
        .catch((error: unknown) => {
          if (!saysFull(error)) throw error
        })
        .finally(() => underWay.delete(text))
      underWay.set(text, filling)
      return filling
    },
    async settled() {
      while (underWay.size > 0) await Promise.allSettled(underWay.values())
    },
    count: () => made,
  }
}

export function viewerBusinessText({ viewer, business }: MarkOwner): string {
  return `${business}:${viewer}`
}

/** One key of each viewer and business. */
export function distinctOwners(keys: readonly MarkOwner[]): MarkOwner[] {
  return [...new Map(keys.map((key) => [viewerBusinessText(key), key])).values()]
}
