/**
 * Puts marks into the hot store, with help from the record store. The service and the replay of a journal use it.
 *
 * The hot store cannot decide some writes alone. For up to four viewers with unknown marks, a fill is sent, and the next put follows without
 * waiting for it. The fill also helps the viewers' next calls. For all other undecided writes, the rows are read in one batch. A call for
 * many unknown viewers, such as an import, fills no viewer: a fill is one query per viewer, and these viewers may never return. Their rows
 * are read before their first put, which would only ask for them.
 */
import { asRepeated } from '../../../core/clock-differences.ts'
import { type Degraded, noteOrThrow } from '../../../core/outage/degraded.ts'
import { DamagedMarks } from '../model/damaged-marks.ts'
import type { BusinessNumber, MarkRecord } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { distinctOwners, viewerBusinessText, type Fills } from '../../../loaders/mark-fills.ts'
import type { MarkRecords } from '../stores/record-store.ts'
import type { MarkOutcome, MarkStore, MarkWrite, ReadStart } from '../stores/hot-store.ts'

/** A second read is rare. It follows a late or failed fill, or a mark of the viewer that left the hot store in between. */
const BASE_READS_MAX = 20
const FILLS_PER_CALL_MAX = 4

export type DecidedMark =
  | (Exclude<MarkOutcome, { status: 'needs-base' }> & {
      /** True if the old mark is a guess, because the record store was not asked. */
      blind: boolean
    })
  /** The viewer's marks in the record store are damaged. Nothing changed, because the change of the counts is unknown. */
  | { status: 'unreadable'; error: DamagedMarks }

export type PutMarksStores = {
  readonly hot: Pick<MarkStore, 'putMarks' | 'beginReads'>
  readonly records: Pick<MarkRecords, 'getMarkMany'>
  readonly fills: Pick<Fills, 'send'>
  /** The cap of the hot store for a business. */
  capOf(business: BusinessNumber): number
}

/**
 * In the order of `writes`. Damaged marks of one viewer do not stop the writes of other viewers. With the record store down
 * the writes are put blindly. Rejects with HOT_STORE_UNAVAILABLE if that fails. Nothing is promised then; repeat the call.
 */
export async function putMarks(
  stores: PutMarksStores,
  writes: readonly MarkWrite[],
  now: number,
  degraded: Degraded,
): Promise<DecidedMark[]> {
  const { capOf } = stores
  const caps = new Set(writes.map(({ business }) => capOf(business)))
  if (caps.size <= 1) return putOfOneCap(stores, writes, { now, cap: [...caps][0] ?? 1 }, degraded)
  const outcomes: DecidedMark[] = []
  for (const cap of caps) {
    const places = writes.flatMap(({ business }, place) => (capOf(business) === cap ? [place] : []))
    const some = places.map((place) => writes[place] as MarkWrite)
    const decided = await putOfOneCap(stores, some, { now, cap }, degraded)
    places.forEach((place, index) => (outcomes[place] = decided[index] as DecidedMark))
  }
  return outcomes
}

async function putOfOneCap(
  { hot, records, fills }: PutMarksStores,
  writes: readonly MarkWrite[],
  options: { now: number; cap: number },
  degraded: Degraded,
): Promise<DecidedMark[]> {
  const { outcomes, ...first } = await putOfKnown(hot, writes, options)
  let { presumed } = first
  const blind = new Set<number>()
  const unreadable = new Map<number, DamagedMarks>()
  for (let read = 0; read < BASE_READS_MAX; read++) {
    const undecided = outcomes.flatMap((outcome, place) =>
      outcome.status === 'needs-base' && !unreadable.has(place) ? [{ place, outcome }] : [],
    )
    if (undecided.length === 0) break
    let again: MarkWrite[]
    try {
      again = await helped(records, fills, writes, undecided, read === 0)
    } catch (error) {
      const damaged = error instanceof DamagedMarks ? undecided.filter(({ place }) => error.concerns(writes[place] as MarkWrite)) : []
      if (presumed) {
        // Some may not need the record store: the hot store can hold marks of unknown viewers.
        presumed = false
        again = undecided.map(({ place }) => writes[place] as MarkWrite)
      } else if (damaged.length > 0) {
        for (const { place } of damaged) unreadable.set(place, error as DamagedMarks)
        continue
      } else {
        noteOrThrow(error, 'recordStore', degraded)
        again = undecided.map(({ place }) => Object.assign({}, writes[place] as MarkWrite, { blind: true as const }))
        for (const { place } of undecided) blind.add(place)
      }
    }
    const decided = await hot.putMarks(again, options)
    undecided.forEach(({ place, outcome: { repeated } }, index) => {
      const outcome = decided[index] as MarkOutcome
      outcomes[place] = repeated === true ? asRepeated(outcome) : outcome
    })
  }
  return outcomes.map((outcome, place) => {
    if (outcome.status !== 'needs-base') return { ...outcome, blind: blind.has(place) }
    const error = unreadable.get(place)
    if (error !== undefined) return { status: 'unreadable', error }
    throw new TidemarkError(
      'HOT_STORE_UNAVAILABLE',
      `subject "${writes[place]?.oid}" changed ${BASE_READS_MAX} times while it was read; send the mark again`,
    )
  })
}

/**
 * In a call for many viewers, the writes of unknown viewers are not put yet. `presumed`: their outcomes were not asked for. The hot store
 * can hold marks of unknown viewers, and would decide the writes of these marks.
 */
async function putOfKnown(
  hot: PutMarksStores['hot'],
  writes: readonly MarkWrite[],
  options: { now: number; cap: number },
): Promise<{ outcomes: MarkOutcome[]; presumed: boolean }> {
  const owners = writes.length > FILLS_PER_CALL_MAX ? distinctOwners(writes) : []
  if (owners.length <= FILLS_PER_CALL_MAX) return { outcomes: await hot.putMarks(writes, options), presumed: false }
  const starts = await hot.beginReads(owners)
  const startOf = new Map(owners.map((owner, place) => [viewerBusinessText(owner), starts[place] as ReadStart]))
  const startOfWrite = writes.map((write) => startOf.get(viewerBusinessText(write)) as ReadStart)
  const known = writes.filter((_, place) => startOfWrite[place]?.unknown === false)
  const put = (known.length > 0 ? await hot.putMarks(known, options) : []).values()
  const outcomes = startOfWrite.map((start): MarkOutcome => (start.unknown ? { status: 'needs-base', ...start } : put.next().value!))
  return { outcomes, presumed: known.length < writes.length }
}

type Undecided = { place: number; outcome: Extract<MarkOutcome, { status: 'needs-base' }> }

/**
 * Prepares the undecided writes for the next put. If few of their viewers are unknown, it sends a fill for each. All other writes get a base
 * from the record store.
 */
async function helped(
  records: Pick<MarkRecords, 'getMarkMany'>,
  fills: Pick<Fills, 'send'>,
  writes: readonly MarkWrite[],
  undecided: readonly Undecided[],
  mayFill: boolean,
): Promise<MarkWrite[]> {
  const unknown = new Map(
    undecided.filter(({ outcome }) => outcome.unknown).map((each) => [viewerBusinessText(writes[each.place] as MarkWrite), each]),
  )
  const toFill = mayFill && unknown.size <= FILLS_PER_CALL_MAX ? unknown : new Map<string, Undecided>()
  const needsRow = undecided.filter(({ place }) => !toFill.has(viewerBusinessText(writes[place] as MarkWrite)))
  const keys = needsRow.map(({ place }) => writes[place] as MarkWrite).map(({ viewer, business, oid }) => ({ viewer, business, oid }))
  const sent = [...toFill.values()].map(({ place, outcome }) => fills.send(writes[place] as MarkWrite, outcome.asOf))
  const [rows] = await Promise.all([keys.length > 0 ? records.getMarkMany(keys) : [], ...sent])
  const rowOf = new Map<number, MarkRecord | null>(needsRow.map(({ place }, index) => [place, rows[index] ?? null]))
  return undecided.map(({ place, outcome }) => {
    const write = writes[place] as MarkWrite
    const base = rowOf.get(place)
    return base === undefined ? write : Object.assign({}, write, { base, baseAsOf: outcome.asOf })
  })
}
