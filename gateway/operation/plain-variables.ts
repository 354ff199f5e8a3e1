/**
 * Passes variables that need no coercion. graphql-js makes a path and a call for each item and each field, and a copy of each input
 * object. For a batch of 500 reports that takes a fifth of the CPU time. graphql-js handles all other values (a number as an ID, one value for
 * a list, an absent field with a default) and all errors.
 */
import { isInputObjectType, isLeafType, isListType, isNonNullType, typeFromAST } from 'graphql'
import type { GraphQLInputObjectType, GraphQLInputType, GraphQLSchema, VariableDefinitionNode } from 'graphql'
import type { VariableValues } from './conditions.ts'

/** True if graphql-js would return an equal value. May throw the error of a scalar. */
type IsPlain = (value: unknown) => boolean

/** The returned function gives undefined for values that need coercion or have a mistake. */
export function compilePlainVariables(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
): (given: VariableValues | undefined) => VariableValues | undefined {
  const known = new Map<GraphQLInputObjectType, IsPlain>()
  const variables = definitions.map(({ variable, type: node, defaultValue }) => {
    const type = typeFromAST(schema, node) as GraphQLInputType | undefined
    const mayBeAbsent = defaultValue === undefined && !isNonNullType(type)
    return {
      name: variable.name.value,
      isPlain: type === undefined || variable.name.value === '__proto__' ? isNever : plainnessOf(type, known),
      mayBeAbsent,
    }
  })

  function plainVariables(given: VariableValues): VariableValues | undefined {
    const values: Record<string, unknown> = {}
    for (const { name, isPlain, mayBeAbsent } of variables) {
      if (!Object.hasOwn(given, name)) {
        if (mayBeAbsent) continue
        return undefined
      }
      const value = given[name]
      if (!isPlain(value)) return undefined
      values[name] = value
    }
    return values
  }

  return (given) => {
    try {
      return given === undefined ? undefined : plainVariables(given)
    } catch {
      // A scalar refused a value. graphql-js finds the same mistake and reports it.
      return undefined
    }
  }
}

function plainnessOf(type: GraphQLInputType, known: Map<GraphQLInputObjectType, IsPlain>): IsPlain {
  if (isNonNullType(type)) return presenceOf(type.ofType, known)
  const isPresent = presenceOf(type, known)
  return (value) => value === null || isPresent(value)
}

/** The check of a value that is neither null nor undefined. */
function presenceOf(type: GraphQLInputType, known: Map<GraphQLInputObjectType, IsPlain>): IsPlain {
  if (isListType(type)) {
    const isPlain = plainnessOf(type.ofType, known)
    return (value) => Array.isArray(value) && value.every(isPlain)
  }
  if (isLeafType(type)) return (value) => value !== undefined && value !== null && type.parseValue(value) === value
  return isInputObjectType(type) ? objectPlainnessOf(type, known) : isNever
}

function objectPlainnessOf(type: GraphQLInputObjectType, known: Map<GraphQLInputObjectType, IsPlain>): IsPlain {
  const compiled = known.get(type)
  if (compiled !== undefined) return compiled
  const all = Object.values(type.getFields())
  // graphql-js reads inherited values of such names.
  if (type.isOneOf || all.some(({ name }) => name in Object.prototype)) return isNever
  const fields = new Map<string, IsPlain>()
  const needed = all.filter((field) => field.defaultValue !== undefined || isNonNullType(field.type)).map(({ name }) => name)
  const isPlainObject: IsPlain = (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
    for (const name in value) {
      const isPlain = fields.get(name)
      if (isPlain === undefined || !isPlain((value as Record<string, unknown>)[name])) return false
    }
    for (const name of needed) if (!Object.hasOwn(value, name)) return false
    return true
  }
  // A type may contain itself, so it is known before its fields are.
  known.set(type, isPlainObject)
  for (const field of all) fields.set(field.name, plainnessOf(field.type, known))
  return isPlainObject
}

function isNever(): boolean {
  return false
}
