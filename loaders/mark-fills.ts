/**
 * Bringing a viewer's marks of a business into the hot store, from which then all his reads and writes are answered. One
 * fill per viewer and business is under way at a time, whoever asks.
 *
 * Joining a fill that has begun is right because nobody takes its rows for the answer: whoever waited for it asks the
 * hot store again. That refuses the rows if something of this viewer left it since the fill began, and whatever it held
 * stays as it is; so the rows may be old, and what is seen is not.
 *
 * A hot store that is full takes no rows, and that is nobody's error: what it lacks is read where the rows are.
 */
import { DamagedMarks } from '../subgraphs/thumbup/model/damaged-marks.ts'
import { saysFull } from '../core/outage/degraded.ts'
import type { BusinessNumber, ViewerId } from '../core/domain.ts'
import { saysDamaged } from '../core/errors.ts'
import type { MarkRecords } from '../subgraphs/thumbup/stores/record-store.ts'
import type { MarkStore } from '../subgraphs/thumbup/stores/hot-store.ts'

export type ViewerBusiness = { viewer: ViewerId; business: BusinessNumber }

export type Fills = {
  /** Rejects with the code of the store that failed. It may have filled nothing: ask the hot store again. */
  bring(of: ViewerBusiness): Promise<void>
  /** Resolves when none is under way: one may outlive who asked for it, if another that he waited for failed first. */
  settled(): Promise<void>
  /** Fills that were made. */
  count(): number
}

export function makeFills(
  hot: Pick<MarkStore, 'beginFill' | 'fillMarks'>,
  records: Pick<MarkRecords, 'listMarks'>,
  capOf: (business: BusinessNumber) => number,
): Fills {
  const underWay = new Map<string, Promise<void>>()
  let made = 0

  async function fillNow({ viewer, business }: ViewerBusiness): Promise<void> {
    const cap = capOf(business)
    const asOf = await hot.beginFill(viewer, business)
    const rows = await records.listMarks(viewer, business, ['LIKE', 'DISLIKE'], undefined, cap + 1).catch((error: unknown) => {
      // Who waits for several viewers at once is to know whose it is.
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

export function viewerBusinessText({ viewer, business }: ViewerBusiness): string {
  return `${business}:${viewer}`
}

/** The viewers and businesses of these keys, each once. */
export function distinctOwners(keys: readonly ViewerBusiness[]): ViewerBusiness[] {
  return [...new Map(keys.map(({ viewer, business }) => [viewerBusinessText({ viewer, business }), { viewer, business }])).values()]
}
