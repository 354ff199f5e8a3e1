/**
 * The shape of an answer: the operation's selections against the API schema, with fragments spread and fields merged, in the order of
 * the answer.
 *
 * The fields of an abstract type depend on the type of each object. They are built when a type first occurs.
 */
import { Kind, isAbstractType, isLeafType, isListType, isNonNullType, isObjectType } from 'graphql'
import type { FieldNode, GraphQLLeafType, GraphQLOutputType, GraphQLSchema, OperationDefinitionNode, SelectionSetNode } from 'graphql'
import type { GraphQLAbstractType, GraphQLInterfaceType, GraphQLObjectType, GraphQLUnionType } from 'graphql'
import type { DataKeys, Fragments } from '../operation/plan-document.ts'
import type { FetchError } from '../transports/transport.ts'

export type FieldShape = {
  /** The key in the answer. */
  readonly key: string
  /** The key in the data. */
  readonly from: string
  /** `Video.title`, for messages. */
  readonly owner: string
  readonly shape: Shape
  /** The viewer may not see the field. It is not fetched, and it is null with this error. */
  readonly denied?: FetchError
}

export type ObjectShape = {
  readonly kind: 'object'
  readonly nonNull: boolean
  readonly typename: string | undefined
  readonly fields: readonly FieldShape[]
}

export type Shape =
  | ObjectShape
  | { readonly kind: 'leaf'; readonly nonNull: boolean; readonly type: GraphQLLeafType }
  /** The name of the object's concrete type. */
  | { readonly kind: 'typename'; readonly nonNull: true }
  /** Passed on unchanged: introspection. */
  | { readonly kind: 'raw'; readonly nonNull: boolean }
  | { readonly kind: 'list'; readonly nonNull: boolean; readonly of: Shape }
  | {
      readonly kind: 'abstract'
      readonly nonNull: boolean
      /**
       * The shape for `__typename`. Undefined if it is not a possible type. For an object without a type name it is the shape that all
       * types share, or undefined if the selections differ by type.
       */
      readonly of: (typename: string | undefined) => ObjectShape | undefined
      readonly name: string
    }

/** The key of introspection in the data. Keys of fetches do not begin with two underscores, except `__typename`. */
export function introspectionKey(key: string): string {
  return `__of_${key}`
}

/** The sources of a shape. The conditions of the operation are decided already. */
export type ShapeSource = {
  readonly schema: GraphQLSchema
  readonly operation: OperationDefinitionNode
  readonly fragments: Fragments
  readonly dataKeys: DataKeys
  /** See authorization/guards.ts. */
  readonly denied?: ReadonlyMap<FieldNode, FetchError> | undefined
}

type Composite = GraphQLObjectType | GraphQLInterfaceType | GraphQLUnionType

export function makeShape(source: ShapeSource): ObjectShape {
  const { schema, operation } = source
  const root = schema.getRootType(operation.operation)
  if (root == null) throw new Error(`the schema has no ${operation.operation} type`)
  return objectShape(source, root, [operation.selectionSet], false)
}

function objectShape(source: ShapeSource, type: Composite, sets: readonly SelectionSetNode[], nonNull: boolean): ObjectShape {
  const byKey = new Map<string, FieldNode[]>()
  for (const set of sets) collectFields(source, type, set, byKey, new Set())
  const fields = [...byKey].map(([key, nodes]) => fieldShape(source, type, key, nodes))
  return { kind: 'object', nonNull, typename: isObjectType(type) ? type.name : undefined, fields }
}

function collectFields(
  source: ShapeSource,
  type: Composite,
  set: SelectionSetNode,
  byKey: Map<string, FieldNode[]>,
  spread: Set<string>,
): void {
  for (const selection of set.selections) {
    if (selection.kind === Kind.FIELD) {
      const key = (selection.alias ?? selection.name).value
      const nodes = byKey.get(key)
      if (nodes === undefined) byKey.set(key, [selection])
      else nodes.push(selection)
      continue
    }
    if (selection.kind === Kind.FRAGMENT_SPREAD) {
      if (spread.has(selection.name.value)) continue
      spread.add(selection.name.value)
    }
    const inner = selection.kind === Kind.INLINE_FRAGMENT ? selection : source.fragments.get(selection.name.value)
    if (inner !== undefined && applies(source.schema, type, inner.typeCondition?.name.value))
      collectFields(source, type, inner.selectionSet, byKey, spread)
  }
}

function applies(schema: GraphQLSchema, type: Composite, condition: string | undefined): boolean {
  if (condition === undefined || condition === type.name) return true
  const conditionType = schema.getType(condition)
  return isAbstractType(conditionType) && (isObjectType(type) || 'getInterfaces' in type) && schema.isSubType(conditionType, type)
}

function fieldShape(source: ShapeSource, parent: Composite, key: string, nodes: readonly FieldNode[]): FieldShape {
  const [node] = nodes
  if (node === undefined) throw new Error('a field has at least one node')
  const name = node.name.value
  const field = { key, from: source.dataKeys(node), owner: `${parent.name}.${name}` }
  if (name === '__typename') return { ...field, shape: { kind: 'typename', nonNull: true } }
  if (name === '__schema' || name === '__type')
    return { ...field, from: introspectionKey(key), shape: { kind: 'raw', nonNull: name === '__schema' } }
  const definition = 'getFields' in parent ? parent.getFields()[name] : undefined
  if (definition === undefined) throw new Error(`the API schema has no field ${field.owner}`)
  // The data may hold the field all the same, as a key of an entity. The answer must not read it.
  const denied = source.denied === undefined ? undefined : nodes.map((each) => source.denied?.get(each)).find((each) => each !== undefined)
  if (denied !== undefined) return { ...field, from: `__denied_${key}`, shape: typeShape(source, definition.type, [], false), denied }
  const sets = nodes.flatMap(({ selectionSet }) => (selectionSet === undefined ? [] : [selectionSet]))
  return { ...field, shape: typeShape(source, definition.type, sets, false) }
}

function typeShape(source: ShapeSource, type: GraphQLOutputType, sets: readonly SelectionSetNode[], nonNull: boolean): Shape {
  if (isNonNullType(type)) return typeShape(source, type.ofType, sets, true)
  if (isListType(type)) return { kind: 'list', nonNull, of: typeShape(source, type.ofType, sets, false) }
  if (isLeafType(type)) return { kind: 'leaf', nonNull, type }
  if (isObjectType(type)) return objectShape(source, type, sets, nonNull)
  return { kind: 'abstract', nonNull, name: type.name, of: shapesByType(source, type, sets, nonNull) }
}

/** Whether the selection is the same for all types. */
function isCommon(source: ShapeSource, type: GraphQLAbstractType, sets: readonly SelectionSetNode[]): boolean {
  return sets.every(({ selections }) =>
    selections.every((selection) => {
      if (selection.kind === Kind.FIELD) return true
      const inner = selection.kind === Kind.INLINE_FRAGMENT ? selection : source.fragments.get(selection.name.value)
      return (
        inner === undefined ||
        (applies(source.schema, type, inner.typeCondition?.name.value) && isCommon(source, type, [inner.selectionSet]))
      )
    }),
  )
}

function shapesByType(source: ShapeSource, abstract: GraphQLAbstractType, sets: readonly SelectionSetNode[], nonNull: boolean) {
  const known = new Map<string | undefined, ObjectShape | undefined>()
  return (typename: string | undefined): ObjectShape | undefined => {
    if (known.has(typename)) return known.get(typename)
    const type = typename === undefined ? abstract : source.schema.getType(typename)
    const isPossible =
      (type === abstract && isCommon(source, abstract, sets)) || (isObjectType(type) && source.schema.isSubType(abstract, type))
    // Impossible names are not kept: a subgraph may invent any number of them.
    if (!isPossible) return undefined
    const shape = objectShape(source, type as Composite, sets, nonNull)
    known.set(typename, shape)
    return shape
  }
}
