/** The mutations of history: pass the input to the service, and its answer or its mistake to the caller. */
import type { Businesses } from '../../config/businesses.ts'
import { requireViewer, type Viewer } from '../../core/viewer.ts'
import { knownSubject } from '../subjects.ts'
import { orUserErrors, userErrorOf } from '../user-errors.ts'
import { NO_PROGRESS, NO_USER_ERRORS, type ReportPayload } from './answers.ts'
import type { HistoryContext } from './context.ts'
import type { ReportProgressInput } from './inputs.ts'
import type { HistoryService, ReportAnswer } from './write/service.ts'

type Input<T> = { input: T }

/** A log that is down affects only the way to the record store. The write itself is durable. */
export function makeHistoryMutations(businesses: Businesses, service: HistoryService, isLogDown: () => boolean) {
  /** Fields that are resolved after a write read the stores again. */
  async function write<T>({ viewer, loaders, degraded }: HistoryContext, task: (viewer: Viewer) => Promise<T>): Promise<T> {
    if (isLogDown()) degraded.add('log')
    try {
      return await task(requireViewer(viewer))
    } finally {
      loaders.progress.clearAll()
    }
  }

  return {
    async reportProgress(_: unknown, { input }: Input<ReportProgressInput>, context: HistoryContext) {
      const [answer] = await write(context, (viewer) => service.report(viewer, [input], context.degraded))
      return payloadOf(answer as ReportAnswer)
    },
    reportProgressBatch(_: unknown, { input: { reports } }: Input<{ reports: ReportProgressInput[] }>, context: HistoryContext) {
      return orUserErrors(
        async () => {
          const answers = await write(context, (viewer) => service.report(viewer, reports, context.degraded))
          return { results: answers.map(payloadOf), userErrors: NO_USER_ERRORS }
        },
        (userErrors) => ({ results: [], userErrors }),
      )
    },
    deleteHistory(_: unknown, { input: { business, ids } }: Input<{ business: string; ids: string[] }>, context: HistoryContext) {
      return orUserErrors(
        async () => {
          const deletedIds = await write(context, (viewer) => service.deleteHistory(viewer, business, ids, context.degraded))
          const { entity } = businesses.byName(business)
          const subjects = ids.map((id) => knownSubject(entity, id, NO_PROGRESS))
          return { subjects, deletedIds, userErrors: NO_USER_ERRORS }
        },
        (userErrors) => ({ subjects: [], deletedIds: [], userErrors }),
      )
    },
    clearHistory(_: unknown, { input: { business } }: Input<{ business: string }>, context: HistoryContext) {
      return orUserErrors(
        async () => {
          const clearedAt = await write(context, (viewer) => service.clearHistory(viewer, business, context.degraded))
          return { business, clearedAt, userErrors: NO_USER_ERRORS }
        },
        (userErrors) => ({ business: null, clearedAt: null, userErrors }),
      )
    },
    async updateHistorySettings(_: unknown, { input: { paused } }: Input<{ paused: boolean }>, context: HistoryContext) {
      const settings = await write(context, (viewer) => service.setPaused(viewer, paused, context.degraded))
      return { settings, userErrors: NO_USER_ERRORS }
    },
  }
}

/** `place`: the report's place in its batch. */
function payloadOf(answer: ReportAnswer, place?: number): ReportPayload {
  const { outcome } = answer
  const isAccepted = outcome === 'ACCEPTED'
  const isStale = outcome === 'STALE'
  const isRejected = outcome === 'REJECTED'
  return {
    outcome,
    userErrors: isRejected ? [userErrorOf(answer, place === undefined ? ['input'] : ['input', 'reports', String(place)])] : NO_USER_ERRORS,
    clearedAt: isStale ? answer.clearedAt : undefined,
    dayToken: isAccepted ? answer.dayToken : undefined,
    firstOfDay: isAccepted && answer.firstOfDay,
    key: isRejected ? undefined : answer.key,
    record: isAccepted || isStale ? answer.record : undefined,
  }
}
