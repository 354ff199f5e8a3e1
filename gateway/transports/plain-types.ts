/**
 * Object types without resolvers, under the names of the subgraph's types. graphql-js uses them to complete values that resolvers have given.
 * Also decides which selections are plain.
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
import type { FieldNode, GraphQLField, GraphQLNullableType, GraphQLOutputType, GraphQLSchema, SelectionNode } from 'graphql'

type ObjectTypes = ReadonlyMap<string, GraphQLObjectType>

/** The object types of a schema by name, without resolvers and arguments. Fields of abstract types are left out. */
export function plainTypes(schema: GraphQLSchema): ObjectTypes {
  const types = new Map<string, GraphQLObjectType>()
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue
    types.set(type.name, new GraphQLObjectType({ name: type.name, fields: () => fieldsOf(type, types) }))
  }
  return types
}

function fieldsOf(type: GraphQLObjectType, types: ObjectTypes): Record<string, { type: GraphQLOutputType }> {
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

/** A selected field. `field` is undefined for `__typename`. `of` is the selection on its object type. A leaf has none. */
export type PlainField = {
  readonly name: string
  readonly node: FieldNode
  readonly field: GraphQLField<unknown, unknown> | undefined
  readonly of: PlainSelection | undefined
}
export type PlainSelection = { readonly type: GraphQLObjectType; readonly fields: readonly PlainField[] }

/**
 * The fields that `selections` select on `type`, also in inline fragments on it. Undefined if the selection is not plain:
 *
 * - A field has an alias, an argument, a default value of an argument, a directive or an abstract type.
 * - A field comes twice, or within a named fragment.
 * - A field below the first level has a resolver.
 */
export function plainSelection(type: GraphQLObjectType, selections: readonly SelectionNode[]): PlainSelection | undefined {
  if (type.isTypeOf != null) return undefined
  const nodes = selections.flatMap((node) =>
    node.kind === Kind.INLINE_FRAGMENT && node.typeCondition?.name.value === type.name && (node.directives ?? []).length === 0
      ? node.selectionSet.selections
      : [node],
  )
  const fields = nodes.map((node) => (node.kind === Kind.FIELD ? plainField(type, node) : undefined))
  if (!fields.every((field) => field !== undefined)) return undefined
  return new Set(fields.map(({ name }) => name)).size === fields.length ? { type, fields } : undefined
}

function plainField(type: GraphQLObjectType, node: FieldNode): PlainField | undefined {
  const { alias, directives = [], arguments: given = [], selectionSet } = node
  if (alias !== undefined || directives.length > 0 || given.length > 0) return undefined
  const { value: name } = node.name
  if (name === '__typename') return { name, node, field: undefined, of: undefined }
  const field = type.getFields()[name]
  if (field === undefined || name.startsWith('__') || field.args.some(({ defaultValue }) => defaultValue !== undefined)) return undefined
  const named = getNamedType(field.type)
  if (isLeafType(named)) return { name, node, field, of: undefined }
  const of = isObjectType(named) ? plainSelection(named, selectionSet?.selections ?? []) : undefined
  return of === undefined || of.fields.some((inner) => inner.field?.resolve !== undefined) ? undefined : { name, node, field, of }
}
