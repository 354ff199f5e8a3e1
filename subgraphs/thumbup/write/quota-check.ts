/**
 * Checks the quotas of the businesses (`quotas.ts`): first the marks per second, then the stored marks. A full business may still change
 * an existing mark, or undo it, since neither stores one more. Undoing a mark that does not exist would store a new tombstone each time.
 *
 * Such an undo is rejected. It cannot be acknowledged without a tombstone: the tombstone protects against an older like that arrives late,
 * from another process's journal or from an offline device. The undo is rejected only if the hot store itself holds nothing for the key.
 * The record store alone may be older than a like that waits to be persisted. Where a tombstone exists, a repeated undo stores no more, and
 * is accepted.
 */
import type { BusinessNumber } from '../../../core/domain.ts'
import { saysDown, type Degraded } from '../../../core/outage/degraded.ts'
import { apartIfPartIsOut, concernsSomeOnly } from '../../../core/outage/part-outage.ts'
import { getMarkMany } from '../../../loaders/marks.ts'
import type { CheckedMark } from '../inputs.ts'
import type { MarkStore, MarkWrite } from '../stores/hot-store.ts'
import type { Pipeline } from './pipeline.ts'
import type { Quotas } from './quotas.ts'
import { orReject, rejectedBy, type Rejected } from '../../user-errors.ts'

type Stores = Pick<Pipeline, 'guarded' | 'fills' | 'writes'>

/** Rejects writes above a quota. Only full businesses cost a lookup. */
export async function checkQuotas(
  checked: readonly (CheckedMark | Rejected)[],
  quotas: Pick<Quotas, 'admit' | 'fullFor'>,
  pipelineOf: (business: BusinessNumber) => Stores,
  degraded: Degraded,
): Promise<(CheckedMark | Rejected)[]> {
  const judged = checked.map((each) => ('outcome' in each ? each : orReject(() => admitted(each, quotas))))
  const full = judged.flatMap((each, place) => {
    const error = 'outcome' in each ? undefined : quotas.fullFor(each)
    return error === undefined ? [] : [{ place, write: each as CheckedMark, error }]
  })
  const parts = Map.groupBy(full, ({ write }) => pipelineOf(write.business))
  await Promise.all(
    Array.from(parts, async ([pipeline, some]) => {
      const writes = some.map(({ write }) => write)
      const isOneMore = await areOneMore(pipeline, writes, degraded)
      some.forEach(({ place, error }, index) => {
        if (isOneMore[index] === true) judged[place] = rejectedBy(error)
      })
    }),
  )
  return judged
}

function admitted(write: CheckedMark, quotas: Pick<Quotas, 'admit'>): CheckedMark {
  quotas.admit(write)
  return write
}

/**
 * Per write, in order: true if it stores one more. If no store knows the old mark, the answer is true for a mark and false for an undo.
 * Rejects only for errors that are not outages.
 */
async function areOneMore({ guarded, fills, writes }: Stores, asked: readonly MarkWrite[], degraded: Degraded): Promise<boolean[]> {
  // Ask the journal first: a mark that has left it by now is visible to the reads below.
  const waits = asked.map(({ viewer }) => writes.mayLack(viewer))
  if (waits.includes(true)) degraded.add('hotStore')
  const sources = { hot: guarded.hot, records: guarded.records, fills }
  const marks = await apartIfPartIsOut(asked, (some) => getMarkMany(sources, some, degraded))
  const isOneMore = asked.map(({ mark }, place) => {
    const old = marks[place]?.mark
    return mark === 'NONE' ? old === 'NONE' && waits[place] !== true : (old ?? 'NONE') === 'NONE'
  })
  const undos = asked.flatMap(({ mark }, place) => (mark === 'NONE' && isOneMore[place] === true ? [place] : []))
  if (undos.length === 0) return isOneMore
  const mayBeHeld = await apartIfPartIsOut(
    undos.map((place) => asked[place] as MarkWrite),
    (some) => mayHold(guarded.hot, some),
  )
  undos.forEach((place, index) => (isOneMore[place] = mayBeHeld[index] !== true))
  return isOneMore
}

/** Includes tombstones. With the hot store down it returns true for every write. */
async function mayHold(hot: Pick<MarkStore, 'readDirtyMarks'>, asked: readonly MarkWrite[]): Promise<boolean[]> {
  try {
    const held = await hot.readDirtyMarks(asked.map(({ viewer, business, oid }) => ({ viewer, business, oid })))
    return held.map(({ record }) => record !== undefined)
  } catch (error) {
    if (concernsSomeOnly(error, asked) || !saysDown(error, 'hotStore')) throw error
    return asked.map(() => true)
  }
}
