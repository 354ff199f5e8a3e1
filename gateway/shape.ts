/**
 * The shape of an answer: the operation's selections against the API schema with fragments spread and fields merged, in
 * the order in which the client must see them. @skip and @include are decided while a shape is built, so there is one
 * shape per combination of the variables that they name, built when it first occurs.
 *
 * The fields of an abstract type depend on the type of each object; they are built when a type first turns up.
 */
import { Kind, isAbstractType, isLeafType, isListType, isNonNullType, isObjectType } from 'graphql'
import type {
  DirectiveNode,
  FieldNode,
  GraphQLLeafType,
  GraphQLOutputType,
  GraphQLSchema,
  OperationDefinitionNode,
  SelectionSetNode,
} from 'graphql'
import type { GraphQLAbstractType, GraphQLInterfaceType, GraphQLObjectType, GraphQLUnionType } from 'graphql'
import type { DataKeys, Fragments } from './plan-document.ts'

export type FieldShape = {
  /** The key in the answer. */
  readonly key: string
  /** The key in the data. */
  readonly from: string
  /** `Video.title`, for messages. */
  readonly owner: string
  readonly shape: Shape
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
  /** The name of the type the object turned out to have. */
  | { readonly kind: 'typename'; readonly nonNull: true }
  /** Taken as it is: introspection. */
  | { readonly kind: 'raw'; readonly nonNull: boolean }
  | { readonly kind: 'list'; readonly nonNull: boolean; readonly of: Shape }
  | {
      readonly kind: 'abstract'
      readonly nonNull: boolean
      /** The shape for `__typename`; undefined if it is no possible type. Without a name: what all types have in common. */
      readonly of: (typename: string | undefined) => ObjectShape | undefined
      readonly name: string
    }

/** Where introspection lies in the data; no key of a fetch begins with two underscores, but `__typename`. */
export function introspectionKey(key: string): string {
  return `__of_${key}`
}

/** What the shape of an operation is made from, besides the variables of its conditions. */
export type ShapeSource = {
  readonly schema: GraphQLSchema
  readonly operation: OperationDefinitionNode
  readonly fragments: Fragments
  readonly dataKeys: DataKeys
}

type Building = ShapeSource & { readonly variables: Readonly<Record<string, unknown>> }
type Composite = GraphQLObjectType | GraphQLInterfaceType | GraphQLUnionType

export function makeShape(source: ShapeSource, variables: Readonly<Record<string, unknown>>): ObjectShape {
  const { schema, operation } = source
  const root = schema.getRootType(operation.operation)
  if (root == null) throw new Error(`the schema has no ${operation.operation} type`)
  return objectShape({ ...source, variables }, root, [operation.selectionSet], false)
}

/** The variables that @skip and @include of an operation name. */
export function conditionVariables(operation: OperationDefinitionNode, fragments: Fragments): string[] {
  const names = new Set<string>()
  const collect = (set: SelectionSetNode): void => {
    for (const selection of set.selections) {
      for (const directive of selection.directives ?? []) {
        const value = directive.arguments?.find(({ name }) => name.value === 'if')?.value
        if (isCondition(directive) && value?.kind === Kind.VARIABLE) names.add(value.name.value)
      }
      if (selection.kind !== Kind.FRAGMENT_SPREAD && selection.selectionSet !== undefined) collect(selection.selectionSet)
    }
  }
  collect(operation.selectionSet)
  for (const fragment of fragments.values()) collect(fragment.selectionSet)
  return [...names]
}

function isCondition({ name }: DirectiveNode): boolean {
  return name.value === 'skip' || name.value === 'include'
}

function objectShape(building: Building, type: Composite, sets: readonly SelectionSetNode[], nonNull: boolean): ObjectShape {
  const byKey = new Map<string, FieldNode[]>()
  for (const set of sets) collectFields(building, type, set, byKey, new Set())
  const fields = [...byKey].map(([key, nodes]) => fieldShape(building, type, key, nodes))
  return { kind: 'object', nonNull, typename: isObjectType(type) ? type.name : undefined, fields }
}

function collectFields(
  building: Building,
  type: Composite,
  set: SelectionSetNode,
  byKey: Map<string, FieldNode[]>,
  spread: Set<string>,
): void {
  for (const selection of set.selections) {
    if (!isIncluded(selection.directives, building.variables)) continue
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
    const inner = selection.kind === Kind.INLINE_FRAGMENT ? selection : building.fragments.get(selection.name.value)
    if (inner !== undefined && applies(building.schema, type, inner.typeCondition?.name.value))
      collectFields(building, type, inner.selectionSet, byKey, spread)
  }
}

function isIncluded(directives: readonly DirectiveNode[] | undefined, variables: Readonly<Record<string, unknown>>): boolean {
  return (directives ?? []).every((directive) => {
    if (!isCondition(directive)) return true
    const value = directive.arguments?.find(({ name }) => name.value === 'if')?.value
    const holds = value?.kind === Kind.VARIABLE ? variables[value.name.value] === true : value?.kind === Kind.BOOLEAN && value.value
    return (directive.name.value === 'include') === holds
  })
}

function applies(schema: GraphQLSchema, type: Composite, condition: string | undefined): boolean {
  if (condition === undefined || condition === type.name) return true
  const conditionType = schema.getType(condition)
  return isAbstractType(conditionType) && (isObjectType(type) || 'getInterfaces' in type) && schema.isSubType(conditionType, type)
}

function fieldShape(building: Building, parent: Composite, key: string, nodes: readonly FieldNode[]): FieldShape {
  const [node] = nodes
  if (node === undefined) throw new Error('a field has at least one node')
  const name = node.name.value
  const field = { key, from: building.dataKeys(node), owner: `${parent.name}.${name}` }
  if (name === '__typename') return { ...field, shape: { kind: 'typename', nonNull: true } }
  if (name === '__schema' || name === '__type')
    return { ...field, from: introspectionKey(key), shape: { kind: 'raw', nonNull: name === '__schema' } }
  const definition = 'getFields' in parent ? parent.getFields()[name] : undefined
  if (definition === undefined) throw new Error(`the API schema has no field ${field.owner}`)
  const sets = nodes.flatMap(({ selectionSet }) => (selectionSet === undefined ? [] : [selectionSet]))
  return { ...field, shape: typeShape(building, definition.type, sets, false) }
}

function typeShape(building: Building, type: GraphQLOutputType, sets: readonly SelectionSetNode[], nonNull: boolean): Shape {
  if (isNonNullType(type)) return typeShape(building, type.ofType, sets, true)
  if (isListType(type)) return { kind: 'list', nonNull, of: typeShape(building, type.ofType, sets, false) }
  if (isLeafType(type)) return { kind: 'leaf', nonNull, type }
  if (isObjectType(type)) return objectShape(building, type, sets, nonNull)
  return { kind: 'abstract', nonNull, name: type.name, of: shapesByType(building, type, sets, nonNull) }
}

function shapesByType(building: Building, abstract: GraphQLAbstractType, sets: readonly SelectionSetNode[], nonNull: boolean) {
  const known = new Map<string | undefined, ObjectShape | undefined>()
  return (typename: string | undefined): ObjectShape | undefined => {
    if (known.has(typename)) return known.get(typename)
    const type = typename === undefined ? abstract : building.schema.getType(typename)
    const isPossible = type === abstract || (isObjectType(type) && building.schema.isSubType(abstract, type))
    // A name that is no possible type is not kept: subgraphs may invent any number of them.
    if (!isPossible) return undefined
    const shape = objectShape(building, type as Composite, sets, nonNull)
    known.set(typename, shape)
    return shape
  }
}
