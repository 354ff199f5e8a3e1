/**
 * graphql-jit takes the conditions of a fragment that is spread twice from one of the two places only:
 *
 *   { ...f @skip(if: $y)  ...f @include(if: $x) }      with x and y both true it leaves the fields out
 *
 * So where there are both fragments and conditions, fragments are inlined before jit sees them, each place with nodes of
 * its own (jit notes the conditions on the nodes).
 */
import { Kind } from 'graphql'
import type { DocumentNode, FragmentDefinitionNode, SelectionNode, SelectionSetNode } from 'graphql'

/** Inlining may multiply; from here on it costs more than jit gains. */
const SELECTIONS_MAX = 10_000

/** The document without fragment spreads; itself if jit can do without that; undefined if it would become too large. */
export function inlineFragments(document: DocumentNode): DocumentNode | undefined {
  const fragments = new Map(
    document.definitions.flatMap((definition) =>
      definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition]] : [],
    ),
  )
  if (fragments.size === 0 || !hasConditions(document)) return document
  const left = { selections: SELECTIONS_MAX }
  const definitions = document.definitions.flatMap((definition) =>
    definition.kind === Kind.OPERATION_DEFINITION
      ? [{ ...definition, selectionSet: inlined(definition.selectionSet, fragments, left) }]
      : [],
  )
  return left.selections < 0 ? undefined : { kind: Kind.DOCUMENT, definitions }
}

function hasConditions(document: DocumentNode): boolean {
  const anyIn = (set: SelectionSetNode | undefined): boolean =>
    set?.selections.some(
      (selection) => (selection.directives ?? []).length > 0 || (selection.kind !== Kind.FRAGMENT_SPREAD && anyIn(selection.selectionSet)),
    ) ?? false
  return document.definitions.some((definition) => 'selectionSet' in definition && anyIn(definition.selectionSet))
}

function inlined(
  set: SelectionSetNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  left: { selections: number },
): SelectionSetNode {
  left.selections -= set.selections.length
  if (left.selections < 0) return set
  const selections = set.selections.map((selection): SelectionNode => {
    if (selection.kind === Kind.FIELD) {
      return selection.selectionSet === undefined
        ? { ...selection }
        : { ...selection, selectionSet: inlined(selection.selectionSet, fragments, left) }
    }
    if (selection.kind === Kind.INLINE_FRAGMENT) return { ...selection, selectionSet: inlined(selection.selectionSet, fragments, left) }
    const fragment = fragments.get(selection.name.value)
    if (fragment === undefined) return selection
    const { typeCondition, selectionSet } = fragment
    return {
      kind: Kind.INLINE_FRAGMENT,
      typeCondition,
      directives: selection.directives ?? [],
      selectionSet: inlined(selectionSet, fragments, left),
    }
  })
  return { ...set, selections }
}
