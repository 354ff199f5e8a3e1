/** The resolvers call loaders and the service. They hold no logic and touch no store. */
import type { GraphQLResolveInfo } from 'graphql'
import type { BusinessConfig } from '../../config/config.ts'
import type { BusinessNumber, CountedSubject } from '../../core/domain.ts'
import { checkIds } from '../../core/input-limits.ts'
import { idFrom } from '../../core/keys.ts'
import { requireViewer } from '../../core/viewer.ts'
import { resolveReference } from '../references.ts'
import { timestamp } from '../timestamp.ts'
import { countsOf, payloadOf, reconciliationOf } from './answers.ts'
import { bigCount } from './big-count.ts'
import type { ThumbupBusinesses } from './businesses.ts'
import type { ThumbupContext, ThumbupReads } from './context.ts'
import type { MarkInput, SubjectInput } from './inputs.ts'
import { makePayloadFields } from './payload-fields.ts'
import { foresee, type Foreseen } from './read/pages.ts'
import { makeShownCounts } from './read/shown-counts.ts'
import { makeSubjectFields } from './subject-fields.ts'
import { makeUserFields, userId } from './user-fields.ts'
import type { ThumbupService } from './write/service.ts'

/** A representation from another subgraph, or from a direct caller. Only these fields are read. */
type Entity = { __typename: string; id: unknown }
/** `gone`: the business of the subject, if it is deleted. */
type Thumbup = { business: string; id: string; number: BusinessNumber; foreseen?: Foreseen; gone?: BusinessConfig }

export function makeThumbupResolvers(businesses: ThumbupBusinesses, service: ThumbupService, reads: ThumbupReads) {
  const shownCounts = makeShownCounts(reads)
  const subjectFields = makeSubjectFields(reads, shownCounts)

  const query = {
    async thumbups(_: unknown, args: { business: string; ids: string[] }, context: ThumbupContext, info: GraphQLResolveInfo) {
      const business = businesses.shownByName(args.business)
      const { name, number } = business
      checkIds(args.ids)
      if (businesses.deleted.has(number)) return args.ids.map((id): Thumbup => ({ business: name, id, number, gone: business }))
      const subjects = args.ids.map((oid) => ({ business: number, oid }))
      const foreseen = await foresee(context.loaders, context.viewer?.id, subjects, info)
      return args.ids.map((id, at): Thumbup => ({ business: name, id, number, foreseen: foreseen[at] as Foreseen }))
    },
    thumbupUser(_: unknown, args: { id?: string | null }, context: ThumbupContext) {
      const viewer = requireViewer(context.viewer)
      return { id: userId({ id: args.id ?? viewer.id }) }
    },
    async reconcile(_: unknown, args: { business: string; ids: string[] }, context: ThumbupContext) {
      return reconciliationOf(await service.reconcile(context.viewer, args.business, args.ids, context.degraded))
    },
  }

  async function markAll(inputs: readonly MarkInput[], context: ThumbupContext) {
    const named = new Set(inputs.map(({ business }) => business))
    const marked = businesses.all.filter(({ name }) => named.has(name))
    if (marked.some(({ number }) => reads.isLogDown(number))) context.degraded.add('log')
    const answers = await service.mark(requireViewer(context.viewer), inputs, context.degraded)
    // Marks that this request read earlier are outdated now.
    for (const answer of answers) if (answer.outcome !== 'REJECTED') context.loaders.marks.clear(answer.key)
    return answers.map(payloadOf)
  }

  const mutation = {
    async mark(_: unknown, args: MarkInput, context: ThumbupContext) {
      return (await markAll([args], context))[0]
    },
    markBatch: (_: unknown, args: { inputs: MarkInput[] }, context: ThumbupContext) => markAll(args.inputs, context),
    registerSubjects: (_: unknown, args: { business?: string | null; inputs: SubjectInput[] }, context: ThumbupContext) =>
      service.registerSubjects(context.viewer, args.business ?? undefined, args.inputs),
  }

  const subscription = {
    countsChanged: {
      subscribe(_: unknown, args: { business: string; ids: string[] }, context: ThumbupContext) {
        const { number } = businesses.byName(args.business)
        checkIds(args.ids)
        const subjects = [...new Set(args.ids)].map((oid) => ({ business: number, oid }))
        return reads.countsChanged(subjects, context.degraded)
      },
      resolve: (changed: readonly CountedSubject[]) => ({
        business: businesses.byNumber(changed[0]?.business ?? 0)?.name ?? '',
        counts: countsOf(changed),
      }),
    },
  }

  return {
    Timestamp: timestamp,
    BigCount: bigCount,
    Query: query,
    Mutation: mutation,
    Subscription: subscription,
    Thumbup: subjectFields(
      ({ number, id, gone }: Thumbup) => {
        if (gone !== undefined) businesses.requireServed(gone)
        return { business: number, oid: id }
      },
      ({ foreseen }) => foreseen,
    ),
    User: makeUserFields(businesses, reads),
    MarkPayload: makePayloadFields(shownCounts),
    ...Object.fromEntries(
      businesses.shown.map((business) => [
        business.entity,
        // Other subgraphs send the representations. An invalid id must not reach a lookup that other requests share.
        {
          __resolveReference: resolveReference<Entity>,
          ...subjectFields(({ id }: Entity) => {
            businesses.requireServed(business)
            return { business: business.number, oid: idFrom(id, 'id') }
          }),
        },
      ]),
    ),
  }
}
