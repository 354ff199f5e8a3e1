/** The counts of a subject as one viewer sees them: the public counts, plus the part of their own mark that is not counted yet. */
import type { Mark, Subject, SubjectCounts, ViewerId } from '../../../core/domain.ts'
import type { ShownMark } from '../../../loaders/marks.ts'
import type { ThumbupLoaders } from '../../../loaders/thumbup.ts'
import { transitionOf } from '../model/merge.ts'
import { valueOf, type Foreseen } from './pages.ts'

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
    { counts, mark }: Foreseen = {},
  ): number | null | Promise<number | null> {
    if (counts === undefined || (viewer !== undefined && mark === undefined)) return loadCount(loaders, subject, viewer, kind)
    const shown = valueOf(counts)
    const own = valueOf(mark ?? null)
    return shown && withCounted(loaders, subject, shown, own, kind)
  }

  /** `journaledMark`: the viewer's mark that waits in the journal. */
  async function loadCount(
    loaders: CountLoaders,
    subject: Subject,
    viewer: ViewerId | undefined,
    kind: CountKind,
    journaledMark?: Mark,
  ): Promise<number | null> {
    const [counts, held] = await Promise.all([
      loaders.counts.load(subject),
      // Counts are public: a mark that cannot be read does not make them null.
      viewer === undefined ? null : loaders.marks.load({ viewer, ...subject }),
    ])
    const own = held === null || journaledMark === undefined ? held : { ...held, mark: journaledMark }
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

  return { shownCount, loadCount }
}

function withOwn(
  counts: SubjectCounts,
  held: { mark: 'NONE' | 'LIKE' | 'DISLIKE'; counted: 'NONE' | 'LIKE' | 'DISLIKE' } | null,
  kind: CountKind,
): number {
  if (held === null) return counts[kind]
  // The mark may have been counted between the two reads.
  return Math.max(0, counts[kind] + transitionOf(held.counted, held.mark)[kind])
}
