/**
 * Brings a viewer's marks of a business into the hot store. All reads and writes of that viewer are answered from there afterwards. One
 * fill per viewer and business is in flight at a time, for all callers. A read waits for the end of a fill (`bring`), a write only until
 * the rows are sent (`send`).
 *
 * Joining a fill in flight is correct because no caller uses its rows as the answer: each caller asks the hot store again. The hot store
 * rejects the rows if a mark of this viewer left it since the fill began, and keeps the marks that it has. The rows may therefore be
 * outdated, but the answers are not.
 *
 * A full hot store accepts no rows. That is not an error: missing marks are read from the record store.
 */
import { DamagedMarks } from '../subgraphs/thumbup/model/damaged-marks.ts'
import { saysDown, saysFull } from '../core/outage/degraded.ts'
import type { BusinessNumber } from '../core/domain.ts'
import { saysDamaged } from '../core/errors.ts'
import type { MarkRecords } from '../subgraphs/thumbup/stores/record-store.ts'
import type { MarkOwner, MarkStore, ReadStart } from '../subgraphs/thumbup/stores/hot-store.ts'

export type Fills = {
  /**
   * Resolves at the end of the fill, even if the hot store took no rows: read the hot store again. Rejects with the code of the store that
   * failed.
   */
  bring(of: MarkOwner): Promise<void>
  /**
   * Resolves when the rows are read and sent, or rejects if that fails. It does not wait for the hot store's answer. A put that begins
   * afterwards usually finds the rows. If not, it answers `needs-base`. `asOf`: from an answer of the hot store before this call. A joined
   * fill keeps its own.
   */
  send(of: MarkOwner, asOf: number): Promise<void>
  /** Resolves when no fill is in flight. A fill may outlive its caller. */
  settled(): Promise<void>
  /** The number of fills. */
  count(): number
}

/** An object, because an async function that returned `filled` itself would wait for it. */
type Sent = { filled: Promise<void> }

/** `onError` gets the failures of sent fills, except outages of the hot store, once per call of `send`. */
export function makeFills(
  hot: Pick<MarkStore, 'beginReads' | 'fillMarks'>,
  records: Pick<MarkRecords, 'listMarks'>,
  capOf: (business: BusinessNumber) => number,
  onError: (error: unknown) => void,
): Fills {
  const underWay = new Map<string, Promise<Sent>>()
  let made = 0

  async function sendNow({ viewer, business }: MarkOwner, knownAsOf: number | undefined): Promise<Sent> {
    const cap = capOf(business)
    const asOf = knownAsOf ?? ((await hot.beginReads([{ viewer, business }])) as [ReadStart])[0].asOf
    const rows = await records.listMarks(viewer, business, ['LIKE', 'DISLIKE'], undefined, cap + 1).catch((error: unknown) => {
      // A caller that waits for several viewers needs to know whose marks are damaged.
      throw saysDamaged(error) ? new DamagedMarks([{ viewer, business }], error) : error
    })
    const filled = hot.fillMarks(viewer, business, rows.slice(0, cap), { cap, asOf, whole: rows.length <= cap }).then(
      () => void made++,
      (error: unknown) => {
        if (!saysFull(error)) throw error
      },
    )
    return { filled }
  }

  function begin(of: MarkOwner, asOf?: number): Promise<Sent> {
    const text = viewerBusinessText(of)
    const found = underWay.get(text)
    if (found !== undefined) return found
    const sent = sendNow(of, asOf)
    underWay.set(text, sent)
    void filledBy(sent)
      .catch(() => undefined)
      .finally(() => underWay.delete(text))
    return sent
  }

  return {
    bring: (of) => filledBy(begin(of)),
    async send(of, asOf) {
      const { filled } = await begin(of, asOf)
      filled.catch((error: unknown) => {
        // The breaker reports an outage.
        if (!saysDown(error, 'hotStore')) onError(error)
      })
    },
    async settled() {
      while (underWay.size > 0) await Promise.allSettled([...underWay.values()].map(filledBy))
    },
    count: () => made,
  }
}

async function filledBy(sent: Promise<Sent>): Promise<void> {
  const { filled } = await sent
  await filled
}

export function viewerBusinessText({ viewer, business }: MarkOwner): string {
  return `${business}:${viewer}`
}

/** One key of each viewer and business. */
export function distinctOwners(keys: readonly MarkOwner[]): MarkOwner[] {
  return [...new Map(keys.map((key) => [viewerBusinessText(key), key])).values()]
}
