/** Passes arguments to loaders and service; has no logic and uses no store. */
import type { Businesses, HistoryBusiness } from '../../config/businesses.ts'
import type { Degraded } from '../../core/outage/degraded.ts'
import type { Place, ProgressChange, ProgressKey, ViewerId } from '../../core/domain.ts'
import type { RewardRules } from '../../core/rewards.ts'
import { decodeCursor } from './model/places.ts'
import { bigCount } from '../big-count.ts'
import { requireScope, requireViewer, SCOPE_REWARDS_READ, type Viewer } from '../../core/viewer.ts'
import type { RewardEventPage } from '../../writeback/reward-events.ts'
import { knownOf, subjectId, subjectResolvers, subjectsOf } from '../subjects.ts'
import { tenantAnswers, type ReadTenants } from '../tenant-statistics.ts'
import { timestamp } from '../timestamp.ts'
import { makeHistoryAnswers, progressId, progressOf, type HistorySubject, type ReportPayload } from './answers.ts'
import type { HistoryContext } from './context.ts'
import { checkBusinesses, checkFirst } from './inputs.ts'
import { makeHistoryMutations } from './mutations.ts'
import type { HistoryService } from './write/service.ts'
import type { TimelinePage } from './read/timeline.ts'

export type HistoryReads = {
  timeline(
    viewer: ViewerId,
    businesses: readonly number[],
    before: Place | undefined,
    first: number,
    degraded: Degraded,
  ): Promise<TimelinePage>
  changes(viewer: Viewer, since: string | undefined, degraded: Degraded): Promise<AsyncIterableIterator<ProgressChange>>
  rewardEvents(after: string | undefined, first: number): Promise<RewardEventPage>
  isLogDown(): boolean
  tenants: ReadTenants
}

export function makeHistoryResolvers(businesses: Businesses, rules: RewardRules, service: HistoryService, reads: HistoryReads) {
  const { historyOf, subjectOf, changeOf, rewardEventsOf } = makeHistoryAnswers(businesses, rules)
  const query = {
    subjects: (_: unknown, args: { business: string; ids: string[] }) => subjectsOf(businesses, args),
    async viewerHistory(_: unknown, args: { businesses?: string[] | null; first: number; after?: string | null }, context: HistoryContext) {
      const viewer = requireViewer(context.viewer)
      const numbers = checkBusinesses(args.businesses, businesses)
      checkFirst(args.first)
      const before = typeof args.after === 'string' ? decodeCursor(args.after, numbers) : undefined
      const page = await reads.timeline(viewer.id, numbers, before, args.first, context.degraded)
      return historyOf(page, before !== undefined)
    },
    historyTenants: (_: unknown, __: unknown, { viewer }: HistoryContext) => tenantAnswers(reads.tenants, viewer),
    async rewardEvents(_: unknown, { first, after }: { first: number; after?: string | null }, context: HistoryContext) {
      requireScope(context.viewer, SCOPE_REWARDS_READ)
      checkFirst(first)
      return rewardEventsOf(await reads.rewardEvents(after ?? undefined, first), typeof after === 'string')
    },
    historySettings: (_: unknown, __: unknown, context: HistoryContext) =>
      service.settings(requireViewer(context.viewer), context.degraded),
  }

  const subscription = {
    progressChanged: {
      subscribe: (_: unknown, args: { since?: string | null }, context: HistoryContext) =>
        reads.changes(requireViewer(context.viewer), args.since ?? undefined, context.degraded),
      resolve: changeOf,
    },
  }

  function entityResolvers(business: HistoryBusiness) {
    return {
      ...subjectResolvers(business),
      viewerProgress(entity: HistorySubject, _: unknown, context: HistoryContext) {
        const key: ProgressKey = { viewer: requireViewer(context.viewer).id, business: business.number, oid: subjectId(entity) }
        const known = knownOf(entity)
        if (known !== undefined) return progressOf(key, known.record)
        return context.loaders.progress.load(key).then((record) => progressOf(key, record))
      },
    }
  }

  return {
    Timestamp: timestamp,
    BigCount: bigCount,
    Query: query,
    Mutation: makeHistoryMutations(businesses, service, reads.isLogDown),
    Subscription: subscription,
    Progress: { id: progressId },
    HistorySettings: { id: (_: unknown, __: unknown, context: HistoryContext) => `history-settings:${requireViewer(context.viewer).id}` },
    ReportProgressPayload: {
      subject: (payload: ReportPayload, _: unknown, context: HistoryContext) => subjectOf(payload, requireViewer(context.viewer).id),
      progress: ({ key, record }: ReportPayload) => key && progressOf(key, record),
    },
    ...Object.fromEntries(businesses.all.map((business) => [business.entity, entityResolvers(business)])),
  }
}
