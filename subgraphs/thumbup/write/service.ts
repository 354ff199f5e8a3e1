/**
 * The service of thumbup. A mark goes through these steps:
 *
 *   inputs.ts        checks it
 *   audience-check.ts  refuses it if the viewer may not see the subject
 *   quota-check.ts   checks the quotas of its business
 *   by-stores.ts     splits the batch per set of stores
 *   writes.ts        puts it into the hot store
 *   mark-answers.ts  passes its key to the aggregator, and answers
 *
 * When a call resolves, the marks are durable, and every later read in every process sees them. Public counts follow within the job's
 * window. While the hot store is down, a mark is durable in the journal, and the caller's collector notes the outage.
 *
 * A business may have stores of its own (`pipeline.ts`). A batch is then split per set of stores, and a failure rejects only the inputs of
 * that set.
 */
import type { Clock } from '../../../core/clock.ts'
import { type Degraded, noteOrThrow } from '../../../core/outage/degraded.ts'
import type { BusinessNumber } from '../../../core/domain.ts'
import { checkIds } from '../../../core/input-limits.ts'
import { SCOPE_OPERATOR, requireScope, type Viewer } from '../../../core/viewer.ts'
import type { Audience } from '../../audience.ts'
import type { ThumbupBusinesses } from '../businesses.ts'
import { checkMarks, type CheckedMark, type SetMarkInput, type RegisterSubjectInput } from '../inputs.ts'
import { checkAudience } from './audience-check.ts'
import { answerByStores } from './by-stores.ts'
import { answerOf, type MarkAnswer } from './mark-answers.ts'
import { makeMarkFigures, type ThumbupFigures } from './mark-figures.ts'
import type { Pipeline } from './pipeline.ts'
import { checkQuotas } from './quota-check.ts'
import type { Quotas } from './quotas.ts'
import { reconcile, type Reconciliation } from '../persist/reconciler.ts'
import { registerSubjects } from './registration.ts'
import type { TenantWrites } from '../../tenant-statistics.ts'
import type { Rejected } from '../../user-errors.ts'
import type { Registration } from '../stores/record-store.ts'

export type ThumbupService = {
  /** In the order of `inputs`. Throws INPUTS_TOO_MANY, or the code of the store if all inputs failed there. */
  mark(viewer: Viewer, inputs: readonly SetMarkInput[], degraded: Degraded): Promise<MarkAnswer[]>
  /** In the order of `inputs`. Throws INPUTS_TOO_MANY, FORBIDDEN, UNAUTHENTICATED, or the code of the store if all inputs failed there. */
  registerSubjects(
    viewer: Viewer | undefined,
    business: string | undefined,
    inputs: readonly RegisterSubjectInput[],
  ): Promise<(Registration | Rejected)[]>
  /** Throws FORBIDDEN, UNAUTHENTICATED, BUSINESS_UNKNOWN, BUSINESS_DELETED, IDS_TOO_MANY, ID_INVALID. */
  reconcile(viewer: Viewer | undefined, business: string, ids: readonly string[], degraded: Degraded): Promise<Reconciliation>
  figures(): ThumbupFigures
  writes: TenantWrites
}

export function makeThumbupService(
  clock: Clock,
  businesses: ThumbupBusinesses,
  pipelineOf: (business: BusinessNumber) => Pick<Pipeline, 'writes' | 'aggregate' | 'guarded' | 'fills' | 'owners'>,
  quotas: Pick<Quotas, 'admit' | 'fullFor'>,
  audience: Audience,
): ThumbupService {
  const figures = makeMarkFigures()

  async function mark(viewer: Viewer, inputs: readonly SetMarkInput[], degraded: Degraded): Promise<MarkAnswer[]> {
    const now = clock.now()
    const checked = await checkAudience(checkMarks(inputs, viewer, businesses, now), audience, degraded)
    const admitted = await checkQuotas(checked, quotas, pipelineOf, degraded)
    const answers: MarkAnswer[] = await answerByStores(pipelineOf, admitted, async (pipeline, writes) => {
      const outcomes = await pipeline.writes.put(writes, now, degraded)
      const [first] = outcomes
      if (first?.status === 'unreadable' && outcomes.every(({ status }) => status === 'unreadable')) throw first.error
      return outcomes.map((outcome, index) => answerOf(pipeline, writes[index] as CheckedMark, outcome))
    })
    answers.forEach((each, index) => figures.count(each, inputs[index] as SetMarkInput, businessOf(checked[index])))
    return answers
  }

  return {
    mark,
    registerSubjects: (viewer, business, inputs) => registerSubjects(businesses, pipelineOf, audience, viewer, business, inputs),
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
    figures: figures.figures,
    writes: figures.writes,
  }
}

function businessOf(checked: CheckedMark | Rejected | undefined): BusinessNumber | undefined {
  return checked === undefined || 'outcome' in checked ? undefined : checked.business
}
