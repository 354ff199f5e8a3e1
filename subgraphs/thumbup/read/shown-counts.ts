/** The counts of a subject as one viewer sees them: the public counts, plus the part of their own mark that is not counted yet. */
import type { Mark, Subject, SubjectCounts, ViewerId } from '../../../core/domain.ts'
import type { ShownMark } from '../../../loaders/marks.ts'
import type { ThumbupLoaders } from '../../../loaders/thumbup.ts'
import { transitionOf } from '../model/merge.ts'
import { valueOf, type Foreseen, type ShownCounts } from './pages.ts'

export type CountKind = 'likes' | 'dislikes'

type CountLoaders = Pick<ThumbupLoaders, 'counts' | 'freshCounts' | 'marks'>

/** `reads.mayBeOld`: true if the loaders may find counts older than the current ones. */
export function makeShownCounts(reads: { mayBeOld(subject: Subject): boolean }) {
  /** The count for this viewer: the public count with the viewer's own pending mark. */
  function shownCount(
    loaders: CountLoaders,
    subject: Subject,
    viewer: ViewerId | undefined,
    kind: CountKind,
    { counts, mark, written, shown }: Foreseen = {},
  ): number | null | Promise<number | null> {
    if (shown !== undefined) return shown[kind]
    if (counts === undefined || (viewer !== undefined && mark === undefined)) return loadCount(loaders, subject, viewer, kind, written)
    const known = valueOf(counts)
    const own = valueOf(mark ?? null)
    return known && withCounted(loaders, subject, known, own, kind)
  }

  /** `written`: the mark that the viewer has just written. */
  async function loadCount(
    loaders: CountLoaders,
    subject: Subject,
    viewer: ViewerId | undefined,
    kind: CountKind,
    written: Mark | undefined,
  ): Promise<number | null> {
    const [counts, held] = await Promise.all([
      loaders.counts.load(subject),
      // Counts are public: a mark that cannot be read does not make them null.
      viewer === undefined ? null : loaders.marks.load({ viewer, ...subject }),
    ])
    const own = held === null || written === undefined ? held : { ...held, mark: written }
    return counts === null ? null : withCounted(loaders, subject, counts, own, kind)
  }

  /**
   * This process may still serve counts from before the viewer's mark or undo was counted. Those would take back a change the viewer has
   * seen.
   */
  function withCounted(
    loaders: CountLoaders,
    subject: Subject,
    counts: SubjectCounts,
    held: ShownMark | null,
    kind: CountKind,
  ): number | Promise<number> {
    const isCounted = held !== null && (held.counted !== 'NONE' || held.undone === true)
    if (!isCounted || !reads.mayBeOld(subject)) return withOwn(counts, held, kind)
    return loaders.freshCounts
      .load(subject)
      .then((fresh) => withOwn(fresh !== null && fresh.version > counts.version ? fresh : counts, held, kind))
  }

  return { shownCount }
}

/** The public count with the part of the viewer's mark that is not counted yet. */
export function withOwn(counts: ShownCounts, held: Pick<ShownMark, 'mark' | 'counted'> | null, kind: CountKind): number {
  if (held === null || held.counted === held.mark) return counts[kind]
  // The mark may have been counted between the two reads.
  return Math.max(0, counts[kind] + transitionOf(held.counted, held.mark)[kind])
}
