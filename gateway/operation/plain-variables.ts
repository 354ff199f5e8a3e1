/**
 * Passes variables that need no coercion: texts, numbers, booleans, enum values, and lists and input objects of them. graphql-js makes a
 * path and a call for each item of a list and each field of an input object. For a page of fifty ids that costs as much as answering some
 * of them, and for a batch of reports as much as storing them. graphql-js handles all other values (a number as an ID, a null in a
 * non-null place, a default) and all errors.
 */
import { GraphQLScalarType, isEnumType, isInputObjectType, isListType, isNonNullType, isRequiredInputField, typeFromAST } from 'graphql'
import type { GraphQLInputObjectType, GraphQLInputType, GraphQLSchema, VariableDefinitionNode } from 'graphql'
import type { VariableValues } from './conditions.ts'

type IsPlain = (value: unknown) => boolean

/** Undefined if the definitions need coercion. The returned function gives undefined for values that need it. */
export function compilePlainVariables(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
): ((given: VariableValues | undefined) => VariableValues | undefined) | undefined {
  const checks: { name: string; isPlain: IsPlain }[] = []
  for (const { variable, type, defaultValue } of definitions) {
    const isPlain = defaultValue === undefined ? plainnessOf(typeFromAST(schema, type) as GraphQLInputType | undefined, []) : undefined
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

/** `above`: the input objects around the type. A type that contains itself is left to graphql-js. */
function plainnessOf(type: GraphQLInputType | undefined, above: readonly string[]): IsPlain | undefined {
  if (type === undefined) return undefined
  if (isNonNullType(type)) return plainnessOf(type.ofType, above)
  if (isListType(type)) {
    const isPlain = plainnessOf(type.ofType, above)
    return isPlain && ((value) => Array.isArray(value) && value.every(isPlain))
  }
  if (isInputObjectType(type)) return plainnessOfObject(type, above)
  if (isEnumType(type)) return (value) => typeof value === 'string' && type.getValue(value)?.value === value
  return SCALARS.get(type.name) ?? (type.parseValue === UNCHANGED ? isLeaf : undefined)
}

function plainnessOfObject(type: GraphQLInputObjectType, above: readonly string[]): IsPlain | undefined {
  if (type.isOneOf || above.includes(type.name)) return undefined
  const fields = new Map<string, { isPlain: IsPlain; isOptional: boolean; isNullable: boolean }>()
  for (const field of Object.values(type.getFields())) {
    const isPlain = plainnessOf(field.type, [...above, type.name])
    if (isPlain === undefined) return undefined
    const isOptional = !isRequiredInputField(field) && field.defaultValue === undefined
    fields.set(field.name, { isPlain, isOptional, isNullable: !isNonNullType(field.type) })
  }
  const needed = [...fields].flatMap(([name, { isOptional }]) => (isOptional ? [] : [name]))
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
    for (const [name, inner] of Object.entries(value)) {
      const field = fields.get(name)
      if (field === undefined || !(inner === null ? field.isNullable : field.isPlain(inner))) return false
    }
    return needed.every((name) => Object.hasOwn(value, name))
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

const SCALARS: ReadonlyMap<string, IsPlain> = new Map<string, IsPlain>([
  ['String', isText],
  ['ID', isText],
  ['Boolean', (value) => typeof value === 'boolean'],
  ['Float', Number.isFinite],
  ['Int', (value) => Number.isInteger(value) && Math.abs(value as number) < 2 ** 31],
])

/** Scalars of a schema that has only SDL keep values as they are. */
const UNCHANGED = new GraphQLScalarType({ name: 'Any' }).parseValue

function isLeaf(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}
