/**
 * What a business that has stored all it may (`quotas.ts`) still takes: whatever stores no more, so marks where one stands
 * already, and undoing them. Undoing where nothing stands would store a tombstone each time, for as long as these are kept.
 *
 * Such an undo is refused, never acknowledged and not stored: its tombstone is what an older like loses to that comes later,
 * from another process's journal or from a device that was away. And it is refused only if the hot store itself says that
 * it holds nothing. What the record store alone says may be older than a like that waits; where an undo's tombstone stands,
 * one more (a client that did not hear the answer) stores no more either.
 */
import type { BusinessNumber } from '../../../core/domain.ts'
import { saysDown, type Degraded } from '../../../core/outage/degraded.ts'
import { apartIfPartIsOut, concernsSomeOnly } from '../../../core/outage/part-outage.ts'
import { getMarkMany } from '../../../loaders/marks.ts'
import type { CheckedMark } from '../inputs.ts'
import type { MarkStore, MarkWrite } from '../stores/hot-store.ts'
import type { Pipeline } from './pipeline.ts'
import type { Quotas } from './quotas.ts'
import type { Rejected } from './rejections.ts'

type Stores = Pick<Pipeline, 'guarded' | 'fills' | 'writes'>

/** Of a business that is full, what would store one more is refused. That is looked up for such a business alone. */
export async function refuseNewOfFull(
  checked: readonly (CheckedMark | Rejected)[],
  quotas: Pick<Quotas, 'fullFor'>,
  pipelineOf: (business: BusinessNumber) => Stores,
  degraded: Degraded,
): Promise<(CheckedMark | Rejected)[]> {
  const judged = [...checked]
  const full = checked.flatMap((each, place) => {
    const error = 'outcome' in each ? undefined : quotas.fullFor(each)
    return error === undefined ? [] : [{ place, write: each as CheckedMark, error }]
  })
  const parts = Map.groupBy(full, ({ write }) => pipelineOf(write.business))
  await Promise.all(
    Array.from(parts, async ([pipeline, some]) => {
      const writes = some.map(({ write }) => write)
      const isOneMore = await areOneMore(pipeline, writes, degraded)
      some.forEach(({ place, error }, index) => {
        if (isOneMore[index] === true) judged[place] = { outcome: 'REJECTED', code: error.code, message: error.message }
      })
    }),
  )
  return judged
}

/**
 * Per write, in order: would it store one more? Of a mark the answer is yes where no store can say what stands, of an undo
 * it is no. Rejects only with what is no outage.
 */
async function areOneMore({ guarded, fills, writes }: Stores, asked: readonly MarkWrite[], degraded: Degraded): Promise<boolean[]> {
  // First: what has left the journal when this is asked, is seen by what follows.
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

/** Tombstones included; true of all with the hot store down. */
async function mayHold(hot: Pick<MarkStore, 'readDirtyMarks'>, asked: readonly MarkWrite[]): Promise<boolean[]> {
  try {
    const held = await hot.readDirtyMarks(asked.map(({ viewer, business, oid }) => ({ viewer, business, oid })))
    return held.map(({ record }) => record !== undefined)
  } catch (error) {
    if (concernsSomeOnly(error, asked) || !saysDown(error, 'hotStore')) throw error
    return asked.map(() => true)
  }
}
