/**
 * Object types without resolvers. graphql-js completes values that are resolved already with them: it checks and converts leaf values, and
 * reports errors and nulls under the names of the types.
 */
import {
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  Kind,
  getNamedType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'
import type { FieldNode, GraphQLNullableType, GraphQLOutputType, GraphQLSchema, SelectionNode } from 'graphql'

export type ObjectTypes = ReadonlyMap<string, GraphQLObjectType>

/** The object types of a schema by name, without resolvers and arguments. Fields of abstract types are left out. */
export function plainTypes(schema: GraphQLSchema): ObjectTypes {
  const types = new Map<string, GraphQLObjectType>()
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue
    types.set(type.name, new GraphQLObjectType({ name: type.name, fields: () => plainFields(type, types) }))
  }
  return types
}

function plainFields(type: GraphQLObjectType, types: ObjectTypes): Record<string, { type: GraphQLOutputType }> {
  const fields: Record<string, { type: GraphQLOutputType }> = {}
  for (const field of Object.values(type.getFields())) {
    const plain = plainType(field.type, types)
    if (plain !== undefined) fields[field.name] = { type: plain }
  }
  return fields
}

function plainType(type: GraphQLOutputType, types: ObjectTypes): GraphQLOutputType | undefined {
  if (isLeafType(type)) return type
  if (isObjectType(type)) return types.get(type.name)
  if (!isNonNullType(type) && !isListType(type)) return undefined
  const inner = plainType(type.ofType, types)
  if (inner === undefined) return undefined
  return isListType(type) ? new GraphQLList(inner) : new GraphQLNonNull(inner as GraphQLNullableType & GraphQLOutputType)
}

/**
 * The fields that `selections` ask of an object of `type`, in conditions on the type too. Undefined if plain types cannot have them: a field
 * with an alias, an argument or a directive, of an abstract type, twice, or with a resolver below.
 */
export function plainSelection(type: GraphQLObjectType, selections: readonly SelectionNode[]): FieldNode[] | undefined {
  if (type.isTypeOf != null) return undefined
  const nodes = selections.flatMap((node) =>
    node.kind === Kind.INLINE_FRAGMENT && node.typeCondition?.name.value === type.name ? node.selectionSet.selections : [node],
  )
  const fields = nodes.filter((node) => node.kind === Kind.FIELD)
  const isPlain =
    fields.length === nodes.length &&
    new Set(fields.map(({ name }) => name.value)).size === fields.length &&
    fields.every((node) => isPlainField(type, node))
  return isPlain ? fields : undefined
}

function isPlainField(type: GraphQLObjectType, node: FieldNode): boolean {
  const { name, alias, directives = [], arguments: given = [], selectionSet } = node
  if (alias !== undefined || directives.length > 0 || given.length > 0) return false
  if (name.value.startsWith('__')) return name.value === '__typename'
  const field = type.getFields()[name.value]
  if (field === undefined || field.args.some(({ defaultValue }) => defaultValue !== undefined)) return false
  const of = getNamedType(field.type)
  if (!isObjectType(of)) return isLeafType(of)
  const inner = plainSelection(of, selectionSet?.selections ?? [])
  return inner !== undefined && inner.every((each) => of.getFields()[each.name.value]?.resolve === undefined)
}
