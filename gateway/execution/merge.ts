/** Merges the result of a fetch into the data. Both are trees of this request. */
import type { SelectionSetNode } from 'graphql'
import { makeFunction, read } from './codegen.ts'
import { fieldsByKey, type Fragments } from '../operation/plan-document.ts'
import { Piece } from './escaped.ts'
import { isRecord } from './run.ts'

export type Merge = (target: Record<string, unknown>, source: Record<string, unknown>) => void

/**
 * The merge of one selection set. Leaves are assigned. Objects may exist already, if two subgraphs give fields of one value type; they
 * are merged. A field that a condition excluded is undefined in the source and changes nothing.
 */
export function compileMerge(selectionSet: SelectionSetNode, fragments: Fragments): Merge {
  const lines = Array.from(fieldsByKey([selectionSet], fragments), ([key, nodes]) => {
    const isLeaf = nodes.every((node) => node.selectionSet === undefined)
    const target = `target[${JSON.stringify(key)}]`
    return `if ((value = ${read('source', key)}) !== undefined) ${target} = ${isLeaf ? 'value' : `mergeValues(${read('target', key)}, value)`};`
  })
  return makeFunction<Merge>(['target', 'source'], `let value; ${lines.join(' ')}`, { mergeValues })
}

/** The general merge, for sources with renamed keys. */
export const mergeObjects: Merge = (target, source) => {
  for (const key of Object.keys(source)) {
    const value = source[key]
    if (value !== undefined) target[key] = mergeValues(Object.hasOwn(target, key) ? target[key] : undefined, value)
  }
}

function mergeValues(known: unknown, value: unknown): unknown {
  if (known === undefined || known === null) return value
  if (value === null) return known
  // A piece is a leaf: the later value replaces it, also an object of another subgraph.
  if (value instanceof Piece || known instanceof Piece) return value
  if (isRecord(known) && isRecord(value)) {
    mergeObjects(known, value)
    return known
  }
  if (Array.isArray(known) && Array.isArray(value) && known.length === value.length) {
    for (const [index, item] of value.entries()) known[index] = mergeValues(known[index], item)
    return known
  }
  return value
}
