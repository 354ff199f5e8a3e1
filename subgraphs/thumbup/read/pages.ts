/**
 * Reads lists of subjects as a whole. The query names the fields of the items before any item is resolved. Marks and counts are therefore
 * loaded in one batch, each item gets its share, and its fields answer at once. Fifty items with three fields each need two promises
 * instead of more than a hundred and fifty.
 *
 * Other fields load by themselves through the same loaders: fields under @skip or @include, and items outside a list. The
 * foresight may therefore be incomplete, and it decides no errors of fields.
 */
import { Kind, type FieldNode, type GraphQLResolveInfo, type SelectionSetNode } from 'graphql'
import type { Mark, Subject, SubjectCounts, ViewerId } from '../../../core/domain.ts'
import type { ThumbupLoaders } from '../../../loaders/thumbup.ts'
import type { ShownMark } from '../../../loaders/marks.ts'

/** The values of one subject that are known before its fields are resolved. An absent value was not foreseen. */
export type Foreseen = {
  /** Present if its id is checked. */
  subject?: Subject
  /** An error belongs to the field that needs the value. */
  counts?: SubjectCounts | null | Error
  mark?: ShownMark | null | Error
  /** The mark that the viewer has just written. It may be in the journal only, so it replaces the mark that a store holds. */
  written?: Mark | undefined
  /** The counts as the viewer sees them. */
  shown?: ShownCounts
}

export type ShownCounts = Pick<SubjectCounts, 'likes' | 'dislikes'>

/** Throws the error of a value that failed to load. */
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
  // A shown count includes the viewer's own pending mark.
  const [counts, marks] = await Promise.all([
    wants.counts ? loaders.countPage(subjects) : undefined,
    (wants.marks || wants.counts) && viewer !== undefined
      ? loaders.markPage(subjects.map(({ business, oid }) => ({ viewer, business, oid })))
      : undefined,
  ])
  if (counts === undefined && marks === undefined) return subjects.map(() => NOTHING)
  return subjects.map((subject, at) => {
    const foreseen: Foreseen = { subject }
    if (counts !== undefined) foreseen.counts = counts[at] as SubjectCounts | null | Error
    if (marks !== undefined) foreseen.mark = marks[at] as ShownMark | null | Error
    return foreseen
  })
}

/** The fields of a compiled operation are the same nodes in every request. */
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
