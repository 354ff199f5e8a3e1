/** Arguments in, loaders and service out; no logic, no store. */
import DataLoader from 'dataloader'
import { GraphQLScalarType, type GraphQLResolveInfo } from 'graphql'
import type { BusinessConfig } from '../../config/config.ts'
import type { Degraded } from '../../core/outage/degraded.ts'
import type { BusinessNumber, Mark, MarkKey, MarkPlace, Subject, SubjectCounts, ViewerId, CountedSubject } from '../../core/domain.ts'
import { TidemarkError } from '../../core/errors.ts'
import { checkFirst, checkIds } from '../../core/input-limits.ts'
import { idFrom } from '../../core/keys.ts'
import { decodeMarkCursor, encodeMarkCursor, type MarkList } from './model/places.ts'
import { transitionOf } from './model/merge.ts'
import { SCOPE_MARKS_READ_ANY, requireViewer, type Viewer } from '../../core/viewer.ts'
import type { ShownMark } from '../../loaders/marks.ts'
import type { ThumbupLoaders } from '../../loaders/thumbup.ts'
import { connectionOf } from '../connection.ts'
import { resolveReference } from '../references.ts'
import { timestamp } from '../timestamp.ts'
import type { ThumbupBusinesses } from './businesses.ts'
import type { MarkInput, SubjectInput } from './inputs.ts'
import type { LikersAsked, LikersRead } from './read/likers.ts'
import type { MarkPage } from './read/likes.ts'
import { foresee, type Foreseen } from './read/pages.ts'
import type { MarkAnswer, ThumbupService } from './write/service.ts'

/** What every request brings along, local or standalone. */
export type ThumbupContext = {
  viewer: Viewer | undefined
  loaders: ThumbupLoaders
  /** Stores the answer had to do without; absent: whatever needs one that is down is an error. */
  degraded?: Degraded
}

export type ThumbupReads = {
  /** All of one business. */
  likers(business: BusinessNumber, ...asked: Parameters<LikersRead>): ReturnType<LikersRead>
  likes(
    viewer: ViewerId,
    business: BusinessNumber,
    before: MarkPlace | undefined,
    first: number,
    degraded: Degraded | undefined,
  ): Promise<MarkPage | null>
  countsChanged(subjects: readonly Subject[], degraded: Degraded | undefined): Promise<AsyncIterableIterator<readonly CountedSubject[]>>
  /** Might the counts that loaders find be older than what was counted by now? Of a hot subject they may. */
  mayBeOld(subject: Subject): boolean
  /** Of the stores of this business. A write is as good as ever then; that it is persisted another way is all there is to say. */
  isLogDown(business: BusinessNumber): boolean
}

type PageArgs = { first: number; after?: string | null }
/** As another subgraph, or whoever calls this one alone, sent it: nothing else that stands in it is to be read. */
type Entity = { __typename: string; id: unknown }
/** `gone`: its business, if that is deleted. */
type Thumbup = { business: string; id: string; number: BusinessNumber; foreseen?: Foreseen; gone?: BusinessConfig }
type User = { id: unknown }
type Kinds = 'likes' | 'dislikes'

type LikersLoader = DataLoader<LikersAsked, MarkPage | null>

const LIKERS_BATCH_MAX = 1_000

export function makeThumbupResolvers(businesses: ThumbupBusinesses, service: ThumbupService, reads: ThumbupReads) {
  const likersLoaders = new WeakMap<ThumbupContext, Map<BusinessNumber, LikersLoader>>()

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
      const { checked, unchecked, drift, ownerDrift } = await service.reconcile(context.viewer, args.business, args.ids, context.degraded)
      return {
        checked,
        unchecked,
        drift: drift.map(({ oid, counts, rows }) => ({
          id: oid,
          likeCount: counts.likes,
          dislikeCount: counts.dislikes,
          likeRows: rows.likes,
          dislikeRows: rows.dislikes,
        })),
        ownerDrift: ownerDrift.map(({ owner, likes, summed }) => ({ owner, likesReceived: likes, summed })),
      }
    },
  }

  async function markAll(inputs: readonly MarkInput[], context: ThumbupContext) {
    const named = new Set(inputs.map(({ business }) => business))
    const marked = businesses.all.filter(({ name }) => named.has(name))
    if (marked.some(({ number }) => reads.isLogDown(number))) context.degraded?.add('log')
    const answers = await service.mark(requireViewer(context.viewer), inputs, context.degraded)
    // What was read before in this request is old now.
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
        counts: changed.map(({ oid, counts }) => ({
          id: oid,
          likeCount: counts.likes,
          dislikeCount: counts.dislikes,
          version: counts.version,
        })),
      }),
    },
  }

  /** As this viewer expects it: the count that everybody sees, and what waits of his own. */
  function shownCount(
    context: ThumbupContext,
    subject: Subject,
    viewer: ViewerId | undefined,
    kind: Kinds,
    { counts, mark }: Foreseen = {},
  ): number | null | Promise<number | null> {
    if (counts === undefined || (viewer !== undefined && mark === undefined)) return loadCount(context, subject, viewer, kind)
    const shown = orThrow(counts)
    const own = orThrow(mark ?? null)
    return shown && withCounted(context, subject, shown, own, kind)
  }

  /** `journaledMark`: what the viewer's mark is as soon as the hot store is back. */
  async function loadCount(
    context: ThumbupContext,
    subject: Subject,
    viewer: ViewerId | undefined,
    kind: Kinds,
    journaledMark?: Mark,
  ): Promise<number | null> {
    const { loaders } = context
    const [counts, held] = await Promise.all([
      loaders.counts.load(subject),
      // Counts are for everybody: that a viewer's own mark cannot be read is no reason to have none.
      viewer === undefined ? null : loaders.marks.load({ viewer, ...subject }),
    ])
    const own = held === null || journaledMark === undefined ? held : { ...held, mark: journaledMark }
    return counts === null ? null : withCounted(context, subject, counts, own, kind)
  }

  /** Counts from before a mark or an undoing of his was counted, which this process may still serve, would take back what he has seen. */
  function withCounted(
    { loaders }: ThumbupContext,
    subject: Subject,
    counts: SubjectCounts,
    held: ShownMark | null,
    kind: Kinds,
  ): number | Promise<number> {
    const isCounted = held !== null && (held.counted !== 'NONE' || held.undone === true)
    if (!isCounted || !reads.mayBeOld(subject)) return withOwn(counts, held, kind)
    return loaders.freshCounts
      .load(subject)
      .then((fresh) => withOwn(fresh !== null && fresh.version > counts.version ? fresh : counts, held, kind))
  }

  /** What one request asks for at the same time is read together; each business by itself, since it may have stores of its own. */
  function likersOf(context: ThumbupContext, business: BusinessNumber): LikersLoader {
    const loaders = likersLoaders.get(context) ?? new Map<BusinessNumber, LikersLoader>()
    likersLoaders.set(context, loaders)
    let loader = loaders.get(business)
    if (loader === undefined) {
      loader = new DataLoader((asked) => reads.likers(business, asked, context.degraded), { cache: false, maxBatchSize: LIKERS_BATCH_MAX })
      loaders.set(business, loader)
    }
    return loader
  }

  async function likers(subject: Subject, { first, after }: PageArgs, context: ThumbupContext) {
    requireViewer(context.viewer)
    checkFirst(first)
    const list: MarkList = { kind: 'likers', business: subject.business, id: subject.oid }
    const before = placeOf(list, after)
    const page = await likersOf(context, subject.business).load({ subject, viewer: context.viewer?.id, before, first })
    return page && listOf(list, page, before !== undefined, ({ id, markedAt }) => ({ node: { id }, markedAt }))
  }

  function subjectFields<T>(subjectOf: (parent: T) => Subject, foreseenOf: (parent: T) => Foreseen | undefined = () => undefined) {
    return {
      likeCount: (parent: T, _: unknown, context: ThumbupContext) =>
        shownCount(context, subjectOf(parent), context.viewer?.id, 'likes', foreseenOf(parent)),
      dislikeCount: (parent: T, _: unknown, context: ThumbupContext) =>
        shownCount(context, subjectOf(parent), context.viewer?.id, 'dislikes', foreseenOf(parent)),
      viewerMark(parent: T, _: unknown, context: ThumbupContext) {
        const viewer = requireViewer(context.viewer).id
        const mark = foreseenOf(parent)?.mark
        return mark === undefined ? loadMark(context, { viewer, ...subjectOf(parent) }) : (orThrow(mark)?.mark ?? null)
      },
      likers: (parent: T, args: PageArgs, context: ThumbupContext) => likers(subjectOf(parent), args, context),
    }
  }

  async function loadMark({ loaders }: ThumbupContext, key: MarkKey): Promise<Mark | null> {
    return (await loaders.marks.load(key))?.mark ?? null
  }

  const user = {
    __resolveReference: resolveReference<User>,
    async likes(user: User, args: PageArgs & { business: string }, context: ThumbupContext) {
      const viewer = requireViewer(context.viewer)
      const id = userId(user)
      if (id !== viewer.id && !viewer.scopes.includes(SCOPE_MARKS_READ_ANY)) {
        throw new TidemarkError(
          'FORBIDDEN',
          `user "${id.slice(0, 16)}" is not the viewer of the token: ask for your own likes, or use a token with scope ${SCOPE_MARKS_READ_ANY}`,
        )
      }
      const business = businesses.byName(args.business)
      checkFirst(args.first)
      const list: MarkList = { kind: 'likes', business: business.number, id }
      const before = placeOf(list, args.after)
      const page = await reads.likes(id, business.number, before, args.first, context.degraded)
      return page && listOf(list, page, before !== undefined, ({ id: oid, markedAt }) => ({ node: likeOf(business, oid, markedAt) }))
    },
    likesReceived(user: User, args: { business: string }, context: ThumbupContext) {
      const business = businesses.byName(args.business)
      return context.loaders.ownerLikes.load({ business: business.number, owner: userId(user) })
    },
  }

  type Payload = ReturnType<typeof payloadOf>

  function countAfter(context: ThumbupContext, { key, journaledMark }: Payload, kind: Kinds): number | null | Promise<number | null> {
    if (key === undefined) return null
    return loadCount(context, subjectOf(key), key.viewer, kind, journaledMark)
  }

  /** Read only if asked for. */
  const payload = {
    async state({ key, changed, outcome }: Payload, _: unknown, context: ThumbupContext) {
      if (key === undefined) return null
      if (outcome === 'ACCEPTED' && changed !== false) return 'PENDING'
      const held = await context.loaders.marks.load(key)
      // A repetition waits to be persisted as well, but everybody sees what it says already.
      return held && (held.pending && held.counted !== held.mark ? 'PENDING' : 'SETTLED')
    },
    likeCount: (payload: Payload, _: unknown, context: ThumbupContext) => countAfter(context, payload, 'likes'),
    dislikeCount: (payload: Payload, _: unknown, context: ThumbupContext) => countAfter(context, payload, 'dislikes'),
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
    User: user,
    MarkPayload: payload,
    ...Object.fromEntries(
      businesses.shown.map((business) => [
        business.entity,
        // Representations come from other subgraphs, as they like; what is no id must not reach lookups others share.
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

function payloadOf(answer: MarkAnswer) {
  if (answer.outcome === 'REJECTED') return { ...answer, key: undefined, changed: false, journaledMark: undefined }
  if (answer.outcome === 'STALE')
    return {
      outcome: answer.outcome,
      key: answer.key,
      oldMark: answer.mark,
      newMark: answer.mark,
      changed: false,
      journaledMark: undefined,
    }
  const { outcome, key, old, mark, journaled } = answer
  const journaledMark = journaled === true ? mark : undefined
  return { outcome, key, oldMark: old ?? null, newMark: mark, changed: old === undefined ? null : old !== mark, journaledMark }
}

function withOwn(
  counts: SubjectCounts,
  held: { mark: 'NONE' | 'LIKE' | 'DISLIKE'; counted: 'NONE' | 'LIKE' | 'DISLIKE' } | null,
  kind: Kinds,
): number {
  if (held === null) return counts[kind]
  // The mark may have been counted between the two reads.
  return Math.max(0, counts[kind] + transitionOf(held.counted, held.mark)[kind])
}

function orThrow<T>(value: T | Error): T {
  if (value instanceof Error) throw value
  return value
}

function subjectOf({ business, oid }: Subject): Subject {
  return { business, oid }
}

function userId({ id }: User): string {
  return idFrom(id, 'id')
}

function likeOf(business: BusinessConfig, oid: string, markedAt: number) {
  return { business: business.name, oid, subject: { __typename: business.entity, id: oid }, markedAt }
}

function placeOf(list: MarkList, after: string | null | undefined): MarkPlace | undefined {
  return typeof after === 'string' ? decodeMarkCursor(list, after) : undefined
}

function listOf<E extends object>(list: MarkList, page: MarkPage, hasPreviousPage: boolean, edgeOf: (entry: MarkPlace) => E) {
  const edges = page.entries.map((entry) => ({ cursor: encodeMarkCursor(list, entry), ...edgeOf(entry) }))
  return connectionOf(edges, page, hasPreviousPage)
}

const bigCount = new GraphQLScalarType<number, number>({
  name: 'BigCount',
  serialize(value) {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
    throw new TypeError('a BigCount is a whole number from 0 to 2^53')
  },
})
