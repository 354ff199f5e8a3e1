/**
 * Lists of subjects are read as a whole. What a list's items are asked for is known from the query before any of them is
 * resolved: so their states and counts are loaded in one go, each item gets its share, and its fields answer at once.
 * Fifty items with three fields each are two promises instead of a hundred and fifty and more.
 *
 * What is not foreseen (a field under @skip or @include, an item that is in no list, an id that is none) loads by itself
 * through the same loaders. So this may always answer less, and nothing of it has to be right about fields' errors.
 */
import { Kind, type FieldNode, type GraphQLResolveInfo, type SelectionSetNode } from 'graphql'
import type { Subject, SubjectCounts, ViewerId } from '../../../core/domain.ts'
import type { ThumbupLoaders } from '../../../loaders/thumbup.ts'
import type { ShownMark } from '../../../loaders/marks.ts'

/** What was loaded of one subject; absent: it was not foreseen. An error is that of the field that needs it. */
export type Foreseen = { counts?: SubjectCounts | null | Error; mark?: ShownMark | null | Error }

/** Throws the error of a value that could not be loaded. */
export function valueOf<T>(loaded: T | Error): T {
  if (loaded instanceof Error) throw loaded
  return loaded
}

type Wants = { counts: boolean; marks: boolean }
type Info = Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>

const NOTHING: Foreseen = {}

export async function foresee(
  loaders: Pick<ThumbupLoaders, 'markPage' | 'countPage'>,
  viewer: ViewerId | undefined,
  subjects: readonly Subject[],
  info: Info,
): Promise<Foreseen[]> {
  const wants = wantsOf(info)
  // Counts are shown with what waits of the viewer's own.
  const [counts, marks] = await Promise.all([
    wants.counts ? loaders.countPage(subjects) : undefined,
    (wants.marks || wants.counts) && viewer !== undefined
      ? loaders.markPage(subjects.map(({ business, oid }) => ({ viewer, business, oid })))
      : undefined,
  ])
  if (counts === undefined && marks === undefined) return subjects.map(() => NOTHING)
  return subjects.map((_, at) => {
    const foreseen: Foreseen = {}
    if (counts !== undefined) foreseen.counts = counts[at] as SubjectCounts | null | Error
    if (marks !== undefined) foreseen.mark = marks[at] as ShownMark | null | Error
    return foreseen
  })
}

/** Fields of one compiled operation are the same nodes at every request. */
const known = new WeakMap<FieldNode, Wants>()

function wantsOf({ fieldNodes, fragments }: Info): Wants {
  const [only] = fieldNodes
  const found = only !== undefined && fieldNodes.length === 1 ? known.get(only) : undefined
  if (found !== undefined) return found
  const wants: Wants = { counts: false, marks: false }
  for (const { selectionSet } of fieldNodes) addWants(selectionSet, fragments, wants)
  if (only !== undefined && fieldNodes.length === 1) known.set(only, wants)
  return wants
}

function addWants(selectionSet: SelectionSetNode | undefined, fragments: Info['fragments'], wants: Wants): void {
  for (const selection of selectionSet?.selections ?? []) {
    if ((selection.directives?.length ?? 0) > 0) continue
    if (selection.kind === Kind.INLINE_FRAGMENT) addWants(selection.selectionSet, fragments, wants)
    else if (selection.kind === Kind.FRAGMENT_SPREAD) addWants(fragments[selection.name.value]?.selectionSet, fragments, wants)
    else if (selection.name.value === 'viewerMark') wants.marks = true
    else if (selection.name.value === 'likeCount' || selection.name.value === 'dislikeCount') wants.counts = true
  }
}
