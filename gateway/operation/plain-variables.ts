/**
 * Passes variables that need no coercion: strings, booleans, and lists of them. graphql-js makes a path and a call for each item of a
 * list. For a page of fifty ids that costs as much as answering some of them. graphql-js handles all other values (a number as an ID, a
 * null in a non-null place, a default) and all errors.
 */
import { isListType, isNonNullType, typeFromAST } from 'graphql'
import type { GraphQLInputType, GraphQLSchema, VariableDefinitionNode } from 'graphql'
import type { VariableValues } from './conditions.ts'

type IsPlain = (value: unknown) => boolean

/** Undefined if the definitions need coercion. The returned function gives undefined for values that need it. */
export function compilePlainVariables(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
): ((given: VariableValues | undefined) => VariableValues | undefined) | undefined {
  const checks: { name: string; isPlain: IsPlain }[] = []
  for (const { variable, type, defaultValue } of definitions) {
    const isPlain = defaultValue === undefined ? plainnessOf(typeFromAST(schema, type) as GraphQLInputType | undefined) : undefined
    if (isPlain === undefined) return undefined
    checks.push({ name: variable.name.value, isPlain })
  }
  return (given) => {
    const values: Record<string, unknown> = {}
    for (const { name, isPlain } of checks) {
      const value = given?.[name]
      // graphql-js decides whether an absent variable is an error.
      if (value === undefined || !isPlain(value)) return undefined
      values[name] = value
    }
    return values
  }
}

function plainnessOf(type: GraphQLInputType | undefined): IsPlain | undefined {
  if (type === undefined) return undefined
  if (isNonNullType(type)) return plainnessOf(type.ofType)
  if (isListType(type)) {
    const isPlain = plainnessOf(type.ofType)
    return isPlain && ((value) => Array.isArray(value) && value.every(isPlain))
  }
  if (type.name === 'String' || type.name === 'ID') return isText
  return type.name === 'Boolean' ? isTruth : undefined
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isTruth(value: unknown): boolean {
  return typeof value === 'boolean'
}
