/** The size of an operation for reports: its fields, with fragments spread, and its depth. Limits use operation-cost.ts. */
import { Kind, type SelectionSetNode } from 'graphql'
import type { DecidedOperation } from '../operation/conditions.ts'

export type OperationSize = { readonly fields: number; readonly depth: number }

/** The operation is valid: no fragment reaches itself. */
export function sizeOfOperation({ operation, fragments }: DecidedOperation): OperationSize {
  const known = new Map<string, OperationSize>()
  const ofFragment = (name: string): OperationSize => {
    const size = known.get(name) ?? measure(fragments.get(name)?.selectionSet)
    known.set(name, size)
    return size
  }
  function measure(selectionSet: SelectionSetNode | undefined): OperationSize {
    let fields = 0
    let depth = 0
    for (const selection of selectionSet?.selections ?? []) {
      const below = selection.kind === Kind.FRAGMENT_SPREAD ? ofFragment(selection.name.value) : measure(selection.selectionSet)
      const own = selection.kind === Kind.FIELD ? 1 : 0
      fields += below.fields + own
      depth = Math.max(depth, below.depth + own)
    }
    return { fields, depth }
  }
  return measure(operation.selectionSet)
}
