/** Passes arguments to loaders and service; has no logic and uses no store. */
import type { Businesses, HistoryBusiness } from '../../config/businesses.ts'
import type { Degraded } from '../../core/outage/degraded.ts'
import type { ProgressKey } from '../../core/domain.ts'
import { requireViewer, type Viewer } from '../../core/viewer.ts'
import type { ExistenceLoaders } from '../../loaders/feed-existence.ts'
import { bigCount } from '../big-count.ts'
import { subjectId, subjectResolvers, subjectsOf, type SubjectEntity } from '../subjects.ts'
import { tenantAnswers, type ReadTenants } from '../tenant-statistics.ts'
import { timestamp } from '../timestamp.ts'
import { orUserErrors, type UserError } from '../user-errors.ts'
import type { ExistenceService } from './write/service.ts'

/** The context of every request, local or standalone. */
export type ExistenceContext = {
  viewer: Viewer | undefined
  loaders: ExistenceLoaders
  /** The stores that the answer lacked. */
  degraded: Degraded
}

type IssuedInput = { business: string; ids: string[]; dayToken?: string | null }
type PlayedInput = IssuedInput & { playedAt?: number | null }
/** Valid ids of one business. The entities are built from them only if they are selected. */
type Listed = { listed: { business: HistoryBusiness; ids: readonly string[] } | undefined }

export function makeExistenceResolvers(businesses: Businesses, service: ExistenceService, tenants: ReadTenants) {
  const listed = (business: string, ids: readonly string[]): Listed => ({ listed: { business: businesses.byName(business), ids } })

  const query = {
    subjects: (_: unknown, args: { business: string; ids: string[] }) => subjectsOf(businesses, args),
    async unseen(_: unknown, args: { business: string; candidates: string[]; exclude?: string[] | null }, context: ExistenceContext) {
      const { business, candidates, exclude } = args
      const unseen = await service.unseen(requireViewer(context.viewer), business, candidates, exclude ?? [], context.degraded)
      return { ...unseen, ...listed(business, unseen.ids) }
    },
    existenceTenants: (_: unknown, __: unknown, { viewer }: ExistenceContext) => tenantAnswers(tenants, viewer),
    whyHidden(_: unknown, args: { business: string; id: string; viewer: string }, context: ExistenceContext) {
      return service.whyHidden(context.viewer, args.business, args.id, args.viewer)
    },
  }

  const mutation = {
    recordIssued(_: unknown, { input }: { input: IssuedInput }, context: ExistenceContext) {
      const { business, ids, dayToken } = input
      return orUserErrors(
        async () => {
          const answer = await service.recordIssued(requireViewer(context.viewer), business, ids, context.degraded, dayToken ?? undefined)
          // Values that this request has loaded are outdated now.
          context.loaders.seen.clearAll()
          return { ...answer, ...listed(business, ids), userErrors: [] }
        },
        (userErrors) => ({ ...refused(userErrors), recorded: false }),
      )
    },
    recordPlayed(_: unknown, { input }: { input: PlayedInput }, context: ExistenceContext) {
      const { business, ids, playedAt, dayToken } = input
      return orUserErrors(
        async () => {
          const viewer = requireViewer(context.viewer)
          const answer = await service.recordPlayed(viewer, business, ids, playedAt ?? undefined, context.degraded, dayToken ?? undefined)
          context.loaders.seen.clearAll()
          return { ...answer, ...listed(business, ids), userErrors: [] }
        },
        (userErrors) => ({ ...refused(userErrors), recordedCount: 0, visible: false }),
      )
    },
  }

  return {
    Timestamp: timestamp,
    BigCount: bigCount,
    Query: query,
    Mutation: mutation,
    Unseen: { subjects: entitiesOf },
    RecordIssuedPayload: { subjects: entitiesOf },
    RecordPlayedPayload: {
      subjects(payload: Listed, _: unknown, context: ExistenceContext) {
        // A read would also find the plays: in the hot store, or waiting for it in this process.
        for (const key of keysOf(payload, requireViewer(context.viewer))) context.loaders.seen.prime(key, 'PLAYED')
        return entitiesOf(payload)
      },
    },
    ...Object.fromEntries(
      businesses.all.map((business) => [
        business.entity,
        {
          ...subjectResolvers(business),
          viewerSeen: (entity: SubjectEntity, _: unknown, context: ExistenceContext) =>
            context.loaders.seen.load({
              viewer: requireViewer(context.viewer).id,
              business: business.number,
              oid: subjectId(entity),
            }),
        },
      ]),
    ),
  }
}

function entitiesOf({ listed }: Listed): SubjectEntity[] {
  return listed === undefined ? [] : listed.ids.map((id) => ({ __typename: listed.business.entity, id }))
}

function keysOf({ listed }: Listed, { id: viewer }: Viewer): ProgressKey[] {
  return listed === undefined ? [] : listed.ids.map((oid) => ({ viewer, business: listed.business.number, oid }))
}

function refused(userErrors: readonly UserError[]) {
  return { listed: undefined, userErrors, dayToken: null, firstOfDay: false }
}
