/**
 * The write path of thumbup: check, put into the hot store, hand the keys to the aggregator, answer. When a call resolves
 * the marks are readable by every read that starts now, in every process, and durable; everybody's counts follow within the
 * job's window. While the hot store is down a mark is durable in the journal, and the caller's collector says so.
 *
 * A business may have stores of its own (`pipeline.ts`): a batch falls into one part per set of stores, and what fails in
 * one of them is told of its inputs only.
 */
import type { Clock } from '../../../core/clock.ts'
import { orderAhead, putOvertaken, type OvertakenRules, type TimesAhead } from '../../../core/clock-differences.ts'
import { type Degraded, noteOrThrow } from '../../../core/outage/degraded.ts'
import type { BusinessNumber, Mark, MarkKey } from '../../../core/domain.ts'
import { TidemarkError, isTidemarkError, publicMessage, type ErrorCode } from '../../../core/errors.ts'
import { checkIds, checkInputCount } from '../../../core/input-limits.ts'
import { SCOPE_OPERATOR, SCOPE_SUBJECTS_REGISTER, requireScope, type Viewer } from '../../../core/viewer.ts'
import { subjectText } from '../../../loaders/counts.ts'
import type { Registration } from '../stores/record-store.ts'
import type { MarkWrite } from '../stores/hot-store.ts'
import type { ThumbupBusinesses } from '../businesses.ts'
import { areOneMore } from './quota-check.ts'
import { checkMark, checkSubject, type CheckedMark, type MarkInput, type SubjectInput } from '../inputs.ts'
import type { Pipeline } from './pipeline.ts'
import type { Quotas } from './quotas.ts'
import { reconcile, type Reconciliation } from '../persist/reconciler.ts'
import type { MarkWriteOutcome } from './writes.ts'

export type Rejected = { outcome: 'REJECTED'; code: ErrorCode; message: string }

/** One answer per input. */
export type MarkAnswer =
  | {
      outcome: 'ACCEPTED'
      key: MarkKey
      /** Undefined if no store could say. */
      old: Mark | undefined
      mark: Mark
      /** No store that answers has it yet: what they say is to be read as if they had. */
      journaled?: true
    }
  /** Something newer is stored, or exactly this. */
  | { outcome: 'STALE'; key: MarkKey; mark: Mark }
  | Rejected

export type RegisterAnswer = { id: string; registered: true } | ({ id: string; registered: false } & Omit<Rejected, 'outcome'>)

export type ThumbupFigures = Record<'accepted' | 'changed' | 'stale' | 'rejected' | 'journaled', number> & {
  /** Accepted marks by their source; of more than 50 sources the rest are "other". */
  sources: Readonly<Record<string, number>>
}

export type ThumbupService = {
  /** In the order of `inputs`. Throws INPUTS_TOO_MANY, or the code of a store that failed all of them. */
  mark(viewer: Viewer, inputs: readonly MarkInput[], degraded: Degraded): Promise<MarkAnswer[]>
  /** In the order of `inputs`. Throws INPUTS_TOO_MANY, FORBIDDEN, UNAUTHENTICATED, or the code of a store that failed all. */
  registerSubjects(viewer: Viewer | undefined, business: string | undefined, inputs: readonly SubjectInput[]): Promise<RegisterAnswer[]>
  /** Throws FORBIDDEN, UNAUTHENTICATED, BUSINESS_UNKNOWN, BUSINESS_DELETED, IDS_TOO_MANY, ID_INVALID. */
  reconcile(viewer: Viewer | undefined, business: string, ids: readonly string[], degraded: Degraded): Promise<Reconciliation>
  figures(): ThumbupFigures
}

const SOURCES_MAX = 50

/** A mark equal to the stored mark is not put again. */
const OVERTAKEN_MARKS: OvertakenRules<CheckedMark, MarkWriteOutcome> = {
  timeOf: ({ markedAt }) => markedAt,
  isOvertaken: ({ mark }, outcome) => outcome.status === 'stale' && outcome.repeated !== true && outcome.record.mark !== mark,
  raise: (write, outcome) =>
    outcome.status === 'stale' ? Object.assign({}, write, { markedAt: Math.max(write.markedAt, outcome.record.markedAt + 1) }) : write,
}

export function makeThumbupService(
  clock: Clock,
  businesses: ThumbupBusinesses,
  pipelineOf: (business: BusinessNumber) => Pick<Pipeline, 'writes' | 'aggregate' | 'guarded' | 'fills' | 'owners'>,
  quotas: Pick<Quotas, 'admit' | 'fullFor'>,
): ThumbupService {
  const figures = { accepted: 0, changed: 0, stale: 0, rejected: 0, journaled: 0 }
  const sources = new Map<string, number>()

  async function mark(viewer: Viewer, inputs: readonly MarkInput[], degraded: Degraded): Promise<MarkAnswer[]> {
    checkInputCount(inputs.length)
    const now = clock.now()
    const ahead = orderAhead(
      inputs.map(({ markedAt }) => markedAt),
      now,
    )
    const checked = await refuseNewOfFull(
      inputs.map((input) => orReject(() => checkAndAdmit(input, viewer, now, ahead))),
      degraded,
    )
    const answers: MarkAnswer[] = []
    await inParts(checked, answers, async (pipeline, writes) => {
      const put = (some: readonly CheckedMark[]): Promise<MarkWriteOutcome[]> => pipeline.writes.put(some, now, degraded)
      const outcomes = await putOvertaken(writes, await put(writes), OVERTAKEN_MARKS, put)
      const [first] = outcomes
      if (first?.status === 'unreadable' && outcomes.every(({ status }) => status === 'unreadable')) throw first.error
      return outcomes.map((outcome, index) => answer(pipeline, writes[index] as CheckedMark, outcome))
    })
    answers.forEach((each, index) => count(each, inputs[index] as MarkInput))
    return answers
  }

  function checkAndAdmit(input: MarkInput, viewer: Viewer, now: number, ahead: TimesAhead | undefined): CheckedMark {
    const write = checkMark(input, viewer, businesses, now, ahead)
    quotas.admit(write)
    return write
  }

  /** Of a business that is full, what would store one more is refused. That is looked up for such a business alone. */
  async function refuseNewOfFull(checked: readonly (CheckedMark | Rejected)[], degraded: Degraded): Promise<(CheckedMark | Rejected)[]> {
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

  function answer(pipeline: Pick<Pipeline, 'aggregate'>, write: MarkWrite, outcome: MarkWriteOutcome): MarkAnswer {
    const { viewer, business, oid } = write
    const key: MarkKey = { viewer, business, oid }
    if (outcome.status === 'journaled') {
      figures.journaled++
      return { outcome: 'ACCEPTED', key, old: undefined, mark: outcome.mark, journaled: true }
    }
    if (outcome.status === 'unreadable') {
      return { outcome: 'REJECTED', code: outcome.error.code, message: publicMessage(outcome.error) }
    }
    if (outcome.status === 'stale') {
      const { record, repeated } = outcome
      // An earlier put may have stored this mark, and nobody flushed it, because its answer was lost.
      const isStored = record.mark === write.mark && (repeated === true || record.markedAt === write.markedAt)
      if (isStored) pipeline.aggregate(key)
      return isStored && repeated === true
        ? { outcome: 'ACCEPTED', key, old: undefined, mark: record.mark }
        : { outcome: 'STALE', key, mark: record.mark }
    }
    pipeline.aggregate(key)
    return { outcome: 'ACCEPTED', key, old: outcome.blind ? undefined : outcome.old, mark: outcome.record.mark }
  }

  function count(each: MarkAnswer, { source }: MarkInput): void {
    figures[FIGURE_OF[each.outcome]]++
    if (each.outcome !== 'ACCEPTED') return
    if (each.old !== each.mark) figures.changed++
    const name = source ?? ''
    const counted = sources.has(name) || sources.size < SOURCES_MAX ? name : 'other'
    sources.set(counted, (sources.get(counted) ?? 0) + 1)
  }

  /**
   * Does what passed the checks, a part per set of stores side by side. A part that fails is told of its inputs, unless
   * there is no other: then all failed, and the caller hears it as an error of the call.
   */
  async function inParts<T extends { business: BusinessNumber }, A>(
    checked: readonly (T | Rejected)[],
    answers: (A | Rejected)[],
    task: (pipeline: ReturnType<typeof pipelineOf>, items: readonly T[]) => Promise<readonly A[]>,
  ): Promise<void> {
    const parts = new Map<ReturnType<typeof pipelineOf>, number[]>()
    checked.forEach((each, place) => {
      if ('outcome' in each) {
        answers[place] = each
        return
      }
      const pipeline = pipelineOf(each.business)
      const places = parts.get(pipeline)
      if (places === undefined) parts.set(pipeline, [place])
      else places.push(place)
    })
    await Promise.all(
      Array.from(parts, async ([pipeline, places]) => {
        try {
          const done = await task(
            pipeline,
            places.map((place) => checked[place] as T),
          )
          places.forEach((place, index) => (answers[place] = done[index] as A))
        } catch (error) {
          if (parts.size === 1 || !isTidemarkError(error)) throw error
          for (const place of places) answers[place] = { outcome: 'REJECTED', code: error.code, message: publicMessage(error) }
        }
      }),
    )
  }

  async function registerSubjects(
    viewer: Viewer | undefined,
    business: string | undefined,
    inputs: readonly SubjectInput[],
  ): Promise<RegisterAnswer[]> {
    requireScope(viewer, SCOPE_SUBJECTS_REGISTER)
    checkInputCount(inputs.length)
    const seen = new Set<string>()
    const checked = inputs.map((input) => orReject(() => once(checkSubject(input, business, businesses), seen)))
    const answers: (Registration | Rejected)[] = []
    await inParts(checked, answers, async ({ guarded, owners }, registrations) => {
      const sums = await guarded.records.registerSubjects(registrations)
      // A cache that is down has nothing old: it is read by version, and this is the newer one next time.
      if (sums.length > 0) await guarded.cache.putOwnerSums(sums).catch(() => undefined)
      owners.learn(sums)
      return registrations
    })
    return answers.map((each, index) => {
      const { id } = inputs[index] as SubjectInput
      return 'outcome' in each ? { id, registered: false, code: each.code, message: each.message } : { id, registered: true }
    })
  }

  return {
    mark,
    registerSubjects,
    async reconcile(viewer, business, ids, degraded) {
      requireScope(viewer, SCOPE_OPERATOR)
      const { number } = businesses.byName(business)
      checkIds(ids)
      const subjects = [...new Set(ids)].map((oid) => ({ business: number, oid }))
      try {
        return await reconcile(pipelineOf(number).guarded.records, subjects)
      } catch (error) {
        noteOrThrow(error, 'recordStore', degraded)
        return { checked: 0, unchecked: subjects.map(({ oid }) => oid), drift: [], ownerDrift: [] }
      }
    },
    figures: () => ({ ...figures, sources: Object.fromEntries(sources) }),
  }
}

function once(registration: Registration, seen: Set<string>): Registration {
  const text = subjectText(registration)
  if (seen.has(text)) throw new TidemarkError('REGISTERED_TWICE', `subject "${registration.oid}" stands twice in this call: send it once`)
  seen.add(text)
  return registration
}

function orReject<T>(check: () => T): T | Rejected {
  try {
    return check()
  } catch (error) {
    if (isTidemarkError(error)) return { outcome: 'REJECTED', code: error.code, message: error.message }
    throw error
  }
}

const FIGURE_OF = { ACCEPTED: 'accepted', STALE: 'stale', REJECTED: 'rejected' } as const
