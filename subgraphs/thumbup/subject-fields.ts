/** The fields that thumbup adds to the entity type of each business. */
import DataLoader from 'dataloader'
import type { BusinessConfig } from '../../config/config.ts'
import type { BusinessNumber, Mark, MarkKey, Subject } from '../../core/domain.ts'
import { checkFirst } from '../../core/input-limits.ts'
import { requireViewer } from '../../core/viewer.ts'
import { knownOf, subjectId, type SubjectEntity } from '../subjects.ts'
import { listOf } from './answers.ts'
import { isShown, type ThumbupBusinesses } from './businesses.ts'
import type { ThumbupContext, ThumbupReads } from './context.ts'
import { checkAfter, type PageInput } from './inputs.ts'
import type { MarkList } from './model/places.ts'
import type { LikersAsked } from './read/likers.ts'
import type { MarkPage } from './read/likes.ts'
import { valueOf, type Foreseen } from './read/pages.ts'
import { makeShownTo } from './read/shown-to.ts'
import type { CountKind, makeShownCounts } from './read/shown-counts.ts'

type LikersLoader = DataLoader<LikersAsked, MarkPage | null>

const LIKERS_BATCH_MAX = 1_000

const NOBODY: MarkPage = { entries: [], hasNextPage: false }

const unknown = (): null => null
/** Entities of other subgraphs may have properties with these names, which must not become answers. */
const WITHOUT_LIKES = { likeCount: unknown, dislikeCount: unknown, viewerMark: unknown, likers: unknown }

export function makeSubjectFields(
  businesses: Pick<ThumbupBusinesses, 'requireServed'>,
  reads: Pick<ThumbupReads, 'likers' | 'isRestricted'>,
  { shownCount }: Pick<ReturnType<typeof makeShownCounts>, 'shownCount'>,
) {
  const shownTo = makeShownTo(reads)
  const likersLoaders = new WeakMap<ThumbupContext, Map<BusinessNumber, LikersLoader>>()

  /** Concurrent reads of one request are one read per business. A business may have stores of its own. */
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

  async function likers(subject: Subject, { first, after }: PageInput, context: ThumbupContext) {
    requireViewer(context.viewer)
    checkFirst(first)
    const list: MarkList = { kind: 'likers', business: subject.business, id: subject.oid }
    const before = checkAfter(list, after)
    const page = await shownTo(context.loaders, subject, context.viewer?.id, NOBODY, () =>
      likersOf(context, subject.business).load({ subject, viewer: context.viewer?.id, before, first }),
    )
    return page && listOf(list, page, before !== undefined, ({ id, markedAt }) => ({ node: { id }, markedAt }))
  }

  function publicCount(kind: CountKind, subject: Subject, known: Foreseen | undefined, { loaders, viewer }: ThumbupContext) {
    return shownCount(loaders, subject, viewer?.id, kind, known)
  }

  function restrictedCount(kind: CountKind, subject: Subject, known: Foreseen | undefined, context: ThumbupContext) {
    return shownTo(context.loaders, subject, context.viewer?.id, 0, () => publicCount(kind, subject, known, context))
  }

  return function subjectFields(business: BusinessConfig) {
    if (!isShown(business)) return WITHOUT_LIKES
    const subjectOf = (entity: SubjectEntity<Foreseen>): Subject => {
      const known = knownOf(entity)?.subject
      if (known !== undefined) return known
      businesses.requireServed(business)
      return { business: business.number, oid: subjectId(entity) }
    }
    const count = (kind: CountKind) => (entity: SubjectEntity<Foreseen>, _: unknown, context: ThumbupContext) => {
      const subject = subjectOf(entity)
      // A page has a hundred counts. A public one needs no function.
      const read = reads.isRestricted(subject) ? restrictedCount : publicCount
      return read(kind, subject, knownOf(entity), context)
    }
    return {
      likeCount: count('likes'),
      dislikeCount: count('dislikes'),
      viewerMark(entity: SubjectEntity<Foreseen>, _: unknown, context: ThumbupContext) {
        const viewer = requireViewer(context.viewer).id
        const subject = subjectOf(entity)
        const { written, mark } = knownOf(entity) ?? {}
        if (written !== undefined) return written
        return mark === undefined ? loadMark(context, { viewer, ...subject }) : (valueOf(mark)?.mark ?? null)
      },
      likers: (entity: SubjectEntity<Foreseen>, args: PageInput, context: ThumbupContext) => likers(subjectOf(entity), args, context),
    }
  }
}

async function loadMark({ loaders }: ThumbupContext, key: MarkKey): Promise<Mark | null> {
  return (await loaders.marks.load(key))?.mark ?? null
}
