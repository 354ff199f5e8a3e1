/**
 * A remote subgraph may answer with keys that its fetch did not select: fields of other subgraphs, and keys that the gateway uses itself.
 * They are removed before the answer is merged, in objects of every depth. Values of scalars stay as they are.
 */
import { getOperationAST } from 'graphql'
import type { DocumentNode, SelectionSetNode } from 'graphql'
import { fieldsByKey, fragmentsOf, type Fragments } from '../operation/plan-document.ts'
import { LISTS_MAX } from './flatten.ts'
import { isRecord } from './run.ts'

/** The keys that a fetch selects. The key of an object, or of a list of objects, has the selected keys of these objects. */
type Selected = ReadonlyMap<string, Selected | 'leaf'>

export function compileForeignKeys(document: DocumentNode): (data: Record<string, unknown>) => void {
  const operation = getOperationAST(document)
  const selected = selectedKeys(operation == null ? [] : [operation.selectionSet], fragmentsOf(document), new Map())
  return (data) => removeForeign(data, selected, 0)
}

/** `known`: the keys per selection set, because a fragment may be spread in many places. */
function selectedKeys(
  sets: readonly SelectionSetNode[],
  fragments: Fragments,
  known: Map<SelectionSetNode | undefined, Selected>,
): Selected {
  const only = sets.length === 1 ? sets[0] : undefined
  const compiled = known.get(only)
  if (compiled !== undefined) return compiled
  const selected = new Map<string, Selected | 'leaf'>()
  for (const [key, nodes] of fieldsByKey(sets, fragments)) {
    const inner = nodes.flatMap(({ selectionSet }) => selectionSet ?? [])
    selected.set(key, inner.length === 0 ? 'leaf' : selectedKeys(inner, fragments, known))
  }
  if (only !== undefined) known.set(only, selected)
  return selected
}

function removeForeign(value: unknown, selected: Selected, lists: number): void {
  if (Array.isArray(value)) {
    if (lists < LISTS_MAX) for (const item of value) removeForeign(item, selected, lists + 1)
  } else if (isRecord(value)) {
    for (const key in value) {
      const inner = selected.get(key)
      if (inner === undefined) delete value[key]
      else if (inner !== 'leaf') removeForeign(value[key], inner, 0)
    }
  }
}
