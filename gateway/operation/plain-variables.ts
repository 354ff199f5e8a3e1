/**
 * Variables that need no coercion: texts, booleans and lists of them, given as what they are. graphql-js makes a path and a
 * call for each item of a list, which for a page of fifty ids costs as much as answering some of them. Whatever is not
 * plainly right (a number as an ID, null where there must be something, a default) is left to graphql-js, and so is every error.
 */
import { isListType, isNonNullType, typeFromAST } from 'graphql'
import type { GraphQLInputType, GraphQLSchema, VariableDefinitionNode } from 'graphql'
import type { Values } from './conditions.ts'

type IsPlain = (value: unknown) => boolean

/** Undefined if the definitions need more than this; what it returns gives undefined for values that do. */
export function compilePlainVariables(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
): ((given: Values | undefined) => Values | undefined) | undefined {
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
      // What is absent may be so or not: that is for others to say.
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
