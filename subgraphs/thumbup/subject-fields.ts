/** The fields of a subject: of `Thumbup`, and of the entity type of each business. */
import DataLoader from 'dataloader'
import type { BusinessNumber, Mark, MarkKey, Subject } from '../../core/domain.ts'
import { checkFirst } from '../../core/input-limits.ts'
import { requireViewer } from '../../core/viewer.ts'
import { listOf } from './answers.ts'
import type { ThumbupContext, ThumbupReads } from './context.ts'
import { checkAfter, type PageInput } from './inputs.ts'
import type { MarkList } from './model/places.ts'
import type { LikersAsked } from './read/likers.ts'
import type { MarkPage } from './read/likes.ts'
import { valueOf, type Foreseen } from './read/pages.ts'
import type { makeShownCounts } from './read/shown-counts.ts'

type LikersLoader = DataLoader<LikersAsked, MarkPage | null>

const LIKERS_BATCH_MAX = 1_000

/** Makes the fields of a type. `subjectOf` returns the subject of a parent, `foreseenOf` the values that a page already loaded for it. */
export function makeSubjectFields(
  reads: Pick<ThumbupReads, 'likers'>,
  { shownCount }: Pick<ReturnType<typeof makeShownCounts>, 'shownCount'>,
) {
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
    const page = await likersOf(context, subject.business).load({ subject, viewer: context.viewer?.id, before, first })
    return page && listOf(list, page, before !== undefined, ({ id, markedAt }) => ({ node: { id }, markedAt }))
  }

  return function subjectFields<T>(subjectOf: (parent: T) => Subject, foreseenOf: (parent: T) => Foreseen | undefined = () => undefined) {
    return {
      likeCount: (parent: T, _: unknown, context: ThumbupContext) =>
        shownCount(context.loaders, subjectOf(parent), context.viewer?.id, 'likes', foreseenOf(parent)),
      dislikeCount: (parent: T, _: unknown, context: ThumbupContext) =>
        shownCount(context.loaders, subjectOf(parent), context.viewer?.id, 'dislikes', foreseenOf(parent)),
      viewerMark(parent: T, _: unknown, context: ThumbupContext) {
        const viewer = requireViewer(context.viewer).id
        const mark = foreseenOf(parent)?.mark
        return mark === undefined ? loadMark(context, { viewer, ...subjectOf(parent) }) : (valueOf(mark)?.mark ?? null)
      },
      likers: (parent: T, args: PageInput, context: ThumbupContext) => likers(subjectOf(parent), args, context),
    }
  }
}

async function loadMark({ loaders }: ThumbupContext, key: MarkKey): Promise<Mark | null> {
  return (await loaders.marks.load(key))?.mark ?? null
}
