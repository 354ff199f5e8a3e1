/** The resolvers call loaders and the service. They hold no logic and touch no store. */
import type { GraphQLResolveInfo } from 'graphql'
import type { CountedSubject } from '../../core/domain.ts'
import { checkIds } from '../../core/input-limits.ts'
import { requireViewer } from '../../core/viewer.ts'
import { knownSubject, noteKnown, subjectResolvers, subjectsOf, type SubjectEntity } from '../subjects.ts'
import { tenantAnswers } from '../tenant-statistics.ts'
import { timestamp } from '../timestamp.ts'
import { orUserErrors } from '../user-errors.ts'
import { payloadOf, reconciliationOf, registeredOf } from './answers.ts'
import { bigCount } from '../big-count.ts'
import { isServed, type ThumbupBusinesses } from './businesses.ts'
import type { ThumbupContext, ThumbupReads } from './context.ts'
import type { RegisterSubjectInput, SetMarkInput } from './inputs.ts'
import { makePayloadFields } from './payload-fields.ts'
import { foresee } from './read/pages.ts'
import { makeShownCounts, withOwn } from './read/shown-counts.ts'
import { makeShownTo } from './read/shown-to.ts'
import { makeSubjectFields } from './subject-fields.ts'
import { makeUserFields, userId } from './user-fields.ts'
import type { ThumbupService } from './write/service.ts'

type SubjectsArgs = { business: string; ids: string[] }
type RegisterSubjectsInput = { business?: string | null; subjects: RegisterSubjectInput[] }

export function makeThumbupResolvers(businesses: ThumbupBusinesses, service: ThumbupService, reads: ThumbupReads) {
  const subjectFields = makeSubjectFields(businesses, reads, makeShownCounts(reads))

  const shownTo = makeShownTo(reads)

  const query = {
    async subjects(_: unknown, args: SubjectsArgs, context: ThumbupContext, info: GraphQLResolveInfo) {
      const all = subjectsOf(businesses.configured, args)
      const business = businesses.configured.byName(args.business)
      if (!isServed(business)) return all
      const entities = all.filter((each): each is SubjectEntity => !(each instanceof Error))
      // `subjectsOf` has checked these ids.
      const subjects = entities.map(({ id }) => ({ business: business.number, oid: id as string }))
      const foreseen = await foresee(context.loaders, context.viewer?.id, subjects, info)
      entities.forEach((entity, at) => noteKnown(entity, foreseen[at]))
      return all
    },
    thumbupUser(_: unknown, args: { id?: string | null }, context: ThumbupContext) {
      const viewer = requireViewer(context.viewer)
      return { id: userId({ id: args.id ?? viewer.id }) }
    },
    likesTenants: (_: unknown, __: unknown, { viewer }: ThumbupContext) => tenantAnswers(reads.tenants, viewer),
    async reconcile(_: unknown, args: SubjectsArgs, context: ThumbupContext) {
      const reconciled = await service.reconcile(context.viewer, args.business, args.ids, context.degraded)
      return reconciliationOf(businesses.byName(args.business).entity, reconciled)
    },
  }

  async function markAll(inputs: readonly SetMarkInput[], context: ThumbupContext) {
    const named = new Set(inputs.map(({ business }) => business))
    const marked = businesses.all.filter(({ name }) => named.has(name))
    if (marked.some(({ number }) => reads.isLogDown(number))) context.degraded.add('log')
    const answers = await service.mark(requireViewer(context.viewer), inputs, context.degraded)
    // Marks that this request read earlier are outdated now.
    for (const answer of answers) if (answer.outcome !== 'REJECTED') context.loaders.marks.clear(answer.key)
    return answers
  }

  const mutation = {
    async setMark(_: unknown, { input }: { input: SetMarkInput }, context: ThumbupContext) {
      const [answer] = await markAll([input], context)
      return answer && payloadOf(answer, () => ['input'])
    },
    setMarkBatch: (_: unknown, { input }: { input: { marks: SetMarkInput[] } }, context: ThumbupContext) =>
      orUserErrors(
        async () => {
          const answers = await markAll(input.marks, context)
          return { results: answers.map((answer, at) => payloadOf(answer, () => ['input', 'marks', String(at)])), userErrors: [] }
        },
        (userErrors) => ({ results: [], userErrors }),
      ),
    registerSubjects: (_: unknown, { input }: { input: RegisterSubjectsInput }, context: ThumbupContext) =>
      orUserErrors(
        async () => {
          const answers = await service.registerSubjects(context.viewer, input.business ?? undefined, input.subjects)
          const results = answers.map((answer, at) => registeredOf(businesses, answer, () => ['input', 'subjects', String(at)]))
          return { results, userErrors: [] }
        },
        (userErrors) => ({ results: [], userErrors }),
      ),
  }

  const subscription = {
    countsChanged: {
      async subscribe(_: unknown, args: SubjectsArgs, { loaders, viewer, degraded }: ThumbupContext) {
        const { number } = businesses.byName(args.business)
        checkIds(args.ids)
        const subjects = [...new Set(args.ids)].map((oid) => ({ business: number, oid }))
        // For others, a restricted subject never changes, as one that nobody marks.
        const shown = await Promise.all(subjects.map(async (subject) => shownTo(loaders, subject, viewer?.id, false, () => true)))
        return reads.countsChanged(
          subjects.filter((_each, at) => shown[at] === true),
          degraded,
        )
      },
      async resolve(changed: readonly CountedSubject[], args: SubjectsArgs, { viewer, degraded }: ThumbupContext) {
        const { entity } = businesses.byName(args.business)
        const held = viewer === undefined ? [] : await reads.heldMarks(viewer.id, changed, degraded)
        const subjects = changed.map(({ oid, counts }, at) => {
          const own = held[at] ?? null
          return knownSubject(entity, oid, { shown: { likes: withOwn(counts, own, 'likes'), dislikes: withOwn(counts, own, 'dislikes') } })
        })
        return { subjects }
      },
    },
  }

  return {
    Timestamp: timestamp,
    BigCount: bigCount,
    Query: query,
    Mutation: mutation,
    Subscription: subscription,
    User: makeUserFields(businesses, reads),
    SetMarkPayload: makePayloadFields(businesses),
    ...Object.fromEntries(
      businesses.configured.all.map((business) => [business.entity, { ...subjectResolvers(business), ...subjectFields(business) }]),
    ),
  }
}
