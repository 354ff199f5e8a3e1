/** Passes arguments to loaders and service; has no logic and uses no store. */
import type { Businesses, HistoryBusiness } from '../../config/businesses.ts'
import type { Degraded } from '../../core/outage/degraded.ts'
import type { Place, ProgressChange, ProgressKey, ViewerId } from '../../core/domain.ts'
import { idFrom } from '../../core/keys.ts'
import { decodeCursor } from './model/places.ts'
import { requireViewer, type Viewer } from '../../core/viewer.ts'
import type { Loaders } from '../../loaders/history.ts'
import { resolveReference } from '../references.ts'
import { timestamp } from '../timestamp.ts'
import { makeHistoryAnswers, progressOf } from './answers.ts'
import { checkBusinesses, checkFirst, checkIds, type ProgressInput } from './inputs.ts'
import type { HistoryService, ReportAnswer } from './write/service.ts'
import type { TimelinePage } from './read/timeline.ts'

/** The context of every request, local or standalone. */
export type HistoryContext = {
  viewer: Viewer | undefined
  loaders: Loaders
  /** The stores that the answer lacked. */
  degraded: Degraded
}

export type HistoryReads = {
  timeline(
    viewer: ViewerId,
    businesses: readonly number[],
    before: Place | undefined,
    first: number,
    degraded: Degraded,
  ): Promise<TimelinePage>
  changes(viewer: Viewer, since: string | undefined, degraded: Degraded): Promise<AsyncIterableIterator<ProgressChange>>
  /** Only the way to the record store is affected then; the write itself is as safe as ever. */
  isLogDown(): boolean
}

/** An entity as another subgraph sent it. */
type Entity = { __typename: string; id: unknown }

export function makeHistoryResolvers(businesses: Businesses, service: HistoryService, reads: HistoryReads) {
  const { historyOf, payloadOf, changeOf } = makeHistoryAnswers(businesses)
  const query = {
    async viewerHistory(_: unknown, args: { businesses?: string[] | null; first: number; after?: string | null }, context: HistoryContext) {
      const viewer = requireViewer(context.viewer)
      const numbers = checkBusinesses(args.businesses, businesses)
      checkFirst(args.first)
      const before = typeof args.after === 'string' ? decodeCursor(args.after, numbers) : undefined
      const page = await reads.timeline(viewer.id, numbers, before, args.first, context.degraded)
      return historyOf(page, before !== undefined)
    },
    async progress(_: unknown, args: { business: string; ids: string[] }, context: HistoryContext) {
      const viewer = requireViewer(context.viewer)
      const business = businesses.byName(args.business)
      checkIds(args.ids)
      const keys = args.ids.map((oid) => ({ viewer: viewer.id, business: business.number, oid }))
      const records = await Promise.all(keys.map((key) => context.loaders.progress.load(key)))
      return records.map((record, index) => record && progressOf(business, args.ids[index] as string, record))
    },
    async historySettings(_: unknown, __: unknown, context: HistoryContext) {
      return { paused: (await service.settings(requireViewer(context.viewer), context.degraded)).paused }
    },
  }

  /** The writing viewer. Also notes in the collector that the log is down. */
  function writerOf(context: HistoryContext): Viewer {
    if (reads.isLogDown()) context.degraded.add('log')
    return requireViewer(context.viewer)
  }

  const mutation = {
    async reportProgress(_: unknown, args: { input: ProgressInput }, context: HistoryContext) {
      const [answer] = await service.report(writerOf(context), [args.input], context.degraded)
      return payloadOf(answer as ReportAnswer)
    },
    async reportProgressBatch(_: unknown, args: { inputs: ProgressInput[] }, context: HistoryContext) {
      return (await service.report(writerOf(context), args.inputs, context.degraded)).map(payloadOf)
    },
    async deleteHistory(_: unknown, args: { business: string; ids: string[] }, context: HistoryContext) {
      return { deletedIds: await service.deleteHistory(writerOf(context), args.business, args.ids, context.degraded) }
    },
    async clearHistory(_: unknown, args: { business: string }, context: HistoryContext) {
      return { business: args.business, clearedAt: await service.clearHistory(writerOf(context), args.business, context.degraded) }
    },
    pauseHistory: (_: unknown, __: unknown, context: HistoryContext) => service.setPaused(writerOf(context), true, context.degraded),
    resumeHistory: (_: unknown, __: unknown, context: HistoryContext) => service.setPaused(writerOf(context), false, context.degraded),
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
      __resolveReference: resolveReference<Entity>,
      async viewerProgress(entity: Entity, _: unknown, context: HistoryContext) {
        const viewer = requireViewer(context.viewer).id
        // Representations come from other subgraphs, unchecked. An invalid id must not reach lookups that other requests share.
        const oid = idFrom(entity.id, 'id')
        const key: ProgressKey = { viewer, business: business.number, oid }
        const record = await context.loaders.progress.load(key)
        return record && progressOf(business, oid, record)
      },
    }
  }

  return {
    Timestamp: timestamp,
    Query: query,
    Mutation: mutation,
    Subscription: subscription,
    ...Object.fromEntries(businesses.all.map((business) => [business.entity, entityResolvers(business)])),
  }
}
