/** Checks leaf values of subgraphs against the API schema. */
import { isEnumType, isSpecifiedScalarType } from 'graphql'
import type { GraphQLEnumType, GraphQLLeafType } from 'graphql'
import { Piece } from './escaped.ts'

/**
 * The source of an expression that is true if the value `v` has this type without conversion. For other values the slow path calls
 * `serializeLeaf`, which may convert them.
 */
export function leafTest(type: GraphQLLeafType, bind: (value: unknown) => string): string {
  if (isEnumType(type)) return enumTest(type, bind)
  if (!isSpecifiedScalarType(type)) return `(typeof v !== 'object' || ${bind(isShallow)}(v, 0))`
  switch (type.name) {
    case 'Int':
      // The type first: `|` calls `toString` of an object. A subgraph may send `{"toString":1}`, and the call then throws.
      return `(typeof v === 'number' && (v | 0) === v)`
    case 'Float':
      return `(typeof v === 'number' && v - v === 0)`
    case 'Boolean':
      return '(v === true || v === false)'
    default:
      return `typeof v === 'string'`
  }
}

/** With more names, a set is faster than comparisons. */
const COMPARED_MAX = 8

function enumTest(type: GraphQLEnumType, bind: (value: unknown) => string): string {
  const names = type.getValues().map(({ name }) => name)
  if (names.length > COMPARED_MAX) return `${bind(new Set(names))}.has(v)`
  return `(${names.map((name) => `v === ${JSON.stringify(name)}`).join(' || ') || 'false'})`
}

/** JSON.stringify runs out of stack on values that are nested much deeper, and the whole answer would be lost. */
const SCALAR_DEPTH_MAX = 500

export function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || value instanceof Piece) return true
  if (depth > SCALAR_DEPTH_MAX) return false
  return Object.values(value).every((inner) => isShallow(inner, depth + 1))
}

/** The value for the client. Throws the error of graphql-js if the value cannot have this type. */
export function serializeLeaf(type: GraphQLLeafType, value: unknown): unknown {
  if (!isEnumType(type)) {
    const serialized = type.serialize(value)
    if (!isShallow(serialized, 0))
      throw new Error(`${type.name} cannot represent a value that is nested deeper than ${SCALAR_DEPTH_MAX} levels.`)
    return serialized
  }
  // The message of graphql-js names the value, which may be inaccessible to clients.
  if (typeof value !== 'string' || type.getValue(value) == null)
    throw new Error(`Enum "${type.name}" cannot represent the value that the subgraph gave.`)
  return value
}
