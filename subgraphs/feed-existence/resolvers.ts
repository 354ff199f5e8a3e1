/** Passes arguments to loaders and service; has no logic and uses no store. */
import type { Businesses } from '../../config/businesses.ts'
import type { Degraded } from '../../core/outage/degraded.ts'
import { idFrom } from '../../core/keys.ts'
import { requireViewer, type Viewer } from '../../core/viewer.ts'
import type { ExistenceLoaders } from '../../loaders/feed-existence.ts'
import { resolveReference } from '../references.ts'
import { timestamp } from '../timestamp.ts'
import type { ExistenceService } from './write/service.ts'

/** The context of every request, local or standalone. */
export type ExistenceContext = {
  viewer: Viewer | undefined
  loaders: ExistenceLoaders
  /** The stores that the answer lacked. */
  degraded: Degraded
}

type OfBusiness = { business: string; ids: string[] }
type Recorded = OfBusiness & { dayToken?: string | null }
/** An entity as another subgraph sent it. */
type Entity = { id: unknown }

export function makeExistenceResolvers(businesses: Businesses, service: ExistenceService) {
  const query = {
    unseen(_: unknown, args: { business: string; candidates: string[]; exclude?: string[] | null }, context: ExistenceContext) {
      return service.unseen(requireViewer(context.viewer), args.business, args.candidates, args.exclude ?? [], context.degraded)
    },
    async seen(_: unknown, { business, ids }: OfBusiness, context: ExistenceContext) {
      const reasons = await service.seen(requireViewer(context.viewer), business, ids, context.degraded)
      return ids.map((id, at) => ({ id, reason: reasons[at] ?? null }))
    },
    whyHidden(_: unknown, args: { business: string; id: string; viewer: string }, context: ExistenceContext) {
      return service.whyHidden(context.viewer, args.business, args.id, args.viewer)
    },
  }

  const mutation = {
    async recordIssued(_: unknown, { business, ids, dayToken }: Recorded, context: ExistenceContext) {
      const viewer = requireViewer(context.viewer)
      const answer = await service.recordIssued(viewer, business, ids, context.degraded, dayToken ?? undefined)
      // Values that this request has loaded are outdated now.
      context.loaders.seen.clearAll()
      return answer
    },
    async recordPlayed(_: unknown, args: Recorded & { playedAt?: number | null }, context: ExistenceContext) {
      const viewer = requireViewer(context.viewer)
      const { business, ids, playedAt, dayToken } = args
      const answer = await service.recordPlayed(viewer, business, ids, playedAt ?? undefined, context.degraded, dayToken ?? undefined)
      context.loaders.seen.clearAll()
      return answer
    },
  }

  return {
    Timestamp: timestamp,
    Query: query,
    Mutation: mutation,
    ...Object.fromEntries(
      businesses.all.map(({ entity, number }) => [
        entity,
        {
          __resolveReference: resolveReference<Entity>,
          viewerSeen({ id }: Entity, _: unknown, context: ExistenceContext) {
            // Representations come from other subgraphs, unchecked. An invalid id must not reach lookups that other requests share.
            const oid = idFrom(id, 'id')
            return context.loaders.seen.load({ viewer: requireViewer(context.viewer).id, business: number, oid })
          },
        },
      ]),
    ),
  }
}
