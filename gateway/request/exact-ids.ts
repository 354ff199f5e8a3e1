/**
 * Ids arrive exactly as the client sent them. `JSON.parse` rounds a number beyond 2^53 - 1, and a write would then go to another subject.
 * Such a number is therefore refused where a variable must be an ID. Integers in the text of an operation are digits, and exact. The
 * planner reads them as 64-bit numbers, and -0 as 0. Integers therefore become strings where an ID is expected. Beyond 64 bits, they become
 * floats where a Float is expected.
 *
 * Variables are checked by type, and only where graphql-js coerces them anyway; see plain-variables.ts.
 */
import {
  GraphQLError,
  Kind,
  TypeInfo,
  getNamedType,
  isInputObjectType,
  isListType,
  isNonNullType,
  typeFromAST,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import type { DocumentNode, GraphQLInputType, GraphQLSchema, VariableDefinitionNode } from 'graphql'
import type { ErrorCode } from '../../core/errors.ts'
import { inexactIdMistake } from '../../core/keys.ts'
import type { VariableValues } from '../operation/conditions.ts'

/** The first rounded number of a value, with its path; undefined if there is no such number. */
type Find = (value: unknown) => Found | undefined
type Found = { readonly number: number; readonly path: string }

export type FindInexactId = (given: VariableValues | undefined) => GraphQLError | undefined

/** Undefined if no variable can hold an ID. */
export function compileExactIds(schema: GraphQLSchema, definitions: readonly VariableDefinitionNode[]): FindInexactId | undefined {
  const known = new Map<string, Find | undefined>()
  const variables = definitions.flatMap(({ variable, type }) => {
    const find = findIn(typeFromAST(schema, type) as GraphQLInputType | undefined, known)
    return find === undefined ? [] : [{ name: variable.name.value, find }]
  })
  if (variables.length === 0) return undefined
  return (given) => {
    for (const { name, find } of variables) {
      const found = find(given?.[name])
      if (found === undefined) continue
      return new GraphQLError(inexactIdMistake(found.number, `$${name}${found.path}`), {
        extensions: { code: 'ID_INVALID' satisfies ErrorCode },
      })
    }
    return undefined
  }
}

function findIn(type: GraphQLInputType | undefined, known: Map<string, Find | undefined>): Find | undefined {
  if (type === undefined) return undefined
  if (isNonNullType(type)) return findIn(type.ofType, known)
  if (isListType(type)) {
    const find = findIn(type.ofType, known)
    return find && ((value) => (Array.isArray(value) ? findInList(find, value) : find(value)))
  }
  if (type.name === 'ID') return findInId
  if (!isInputObjectType(type)) return undefined
  if (known.has(type.name)) return known.get(type.name)
  // A type may contain itself. Until its result is known, treat it as if it may hold an ID.
  let fields: { name: string; find: Find }[] = []
  const find: Find = (value) => (typeof value === 'object' && value !== null ? findInFields(fields, value) : undefined)
  known.set(type.name, find)
  fields = Object.values(type.getFields()).flatMap((field) => {
    const inner = findIn(field.type, known)
    return inner === undefined ? [] : [{ name: field.name, find: inner }]
  })
  if (fields.length > 0) return find
  known.set(type.name, undefined)
  return undefined
}

function findInId(value: unknown): Found | undefined {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value) ? { number: value, path: '' } : undefined
}

function findInList(find: Find, values: readonly unknown[]): Found | undefined {
  for (let at = 0; at < values.length; at++) {
    const found = find(values[at])
    if (found !== undefined) return { number: found.number, path: `[${at}]${found.path}` }
  }
  return undefined
}

function findInFields(fields: readonly { name: string; find: Find }[], value: object): Found | undefined {
  for (const { name, find } of fields) {
    const found = find((value as Record<string, unknown>)[name])
    if (found !== undefined) return { number: found.number, path: `.${name}${found.path}` }
  }
  return undefined
}

/** Long integers, and -0. */
const INEXACT_INTEGER = /\d{16}|-0\b/
const [INTEGER_MIN, INTEGER_MAX] = [-(2n ** 63n), 2n ** 63n - 1n]

/**
 * Returns the document with integers as strings where an ID is expected. An integer beyond 64 bits becomes a float for a Float, and an
 * error for a custom scalar. The document must be valid.
 */
export function withExactLiterals(schema: GraphQLSchema, document: DocumentNode, text: string): DocumentNode | GraphQLError {
  if (!INEXACT_INTEGER.test(text)) return document
  const types = new TypeInfo(schema)
  let tooLong: GraphQLError | undefined
  const exact = visit(
    document,
    visitWithTypeInfo(types, {
      IntValue(node) {
        const type = getNamedType(types.getInputType())?.name
        if (type === 'ID') return { kind: Kind.STRING, value: node.value }
        const value = BigInt(node.value)
        if (value >= INTEGER_MIN && value <= INTEGER_MAX) return undefined
        if (type === 'Float') return { kind: Kind.FLOAT, value: `${node.value}.0` }
        tooLong ??= new GraphQLError(`The integer ${node.value.slice(0, 40)} has more than 64 bits: send it as a string.`, {
          nodes: [node],
          extensions: { code: 'GRAPHQL_VALIDATION_FAILED' satisfies ErrorCode },
        })
        return undefined
      },
    }),
  )
  return tooLong ?? exact
}
