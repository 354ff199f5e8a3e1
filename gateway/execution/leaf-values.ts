/** Leaf values from subgraphs, checked against the API schema. */
import { isEnumType, isSpecifiedScalarType } from 'graphql'
import type { GraphQLLeafType } from 'graphql'

/**
 * The source of an expression that tells whether the value `v` is one of this type exactly as it is. A value that is not
 * may still be one after `serializeLeaf`: that is decided on the slow path.
 */
export function leafTest(type: GraphQLLeafType, bind: (value: unknown) => string): string {
  if (isEnumType(type)) return `${bind(new Set(type.getValues().map(({ name }) => name)))}.has(v)`
  if (!isSpecifiedScalarType(type)) return `(typeof v !== 'object' || ${bind(isShallow)}(v, 0))`
  switch (type.name) {
    case 'Int':
      return '(v | 0) === v'
    case 'Float':
      return `(typeof v === 'number' && v - v === 0)`
    case 'Boolean':
      return '(v === true || v === false)'
    default:
      return `typeof v === 'string'`
  }
}

/** JSON.stringify would run out of stack on what is nested much deeper, and take the whole answer with it. */
const SCALAR_DEPTH_MAX = 500

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (depth > SCALAR_DEPTH_MAX) return false
  return Object.values(value).every((inner) => isShallow(inner, depth + 1))
}

/** What a client gets for a value; throws what graphql-js throws if it cannot be of this type. */
export function serializeLeaf(type: GraphQLLeafType, value: unknown): unknown {
  if (!isEnumType(type)) {
    const serialized = type.serialize(value)
    if (!isShallow(serialized, 0))
      throw new Error(`${type.name} cannot represent a value that is nested deeper than ${SCALAR_DEPTH_MAX} levels.`)
    return serialized
  }
  // Not the message of graphql-js: it would tell the client the value, which may be an inaccessible one.
  if (typeof value !== 'string' || type.getValue(value) == null)
    throw new Error(`Enum "${type.name}" cannot represent the value that the subgraph gave.`)
  return value
}
