/**
 * Runs a query of one list of objects without graphql-jit. It calls the resolver of the root field. Then it handles the items as the entities of
 * a fetch (entity-calls.ts). Each type of items has a list of its own, as in entity-schema.ts. The first query is handled like the second:
 *
 *   query ($ids: [ID!]!) { subjects(ids: $ids) { id likeCount } }
 *   query { subjects_Video: list_Video { id likeCount } subjects_Article: list_Article { id likeCount } }
 *
 * The selection must be plain (plain-types.ts) on each type.
 */
import {
  GraphQLError,
  Kind,
  OperationTypeNode,
  getArgumentValues,
  getNullableType,
  getVariableValues,
  isAbstractType,
  isLeafType,
  isListType,
  isObjectType,
  typeFromAST,
} from 'graphql'
import type { DocumentNode, FieldNode, GraphQLField, GraphQLObjectType, GraphQLResolveInfo, GraphQLSchema, GraphQLType } from 'graphql'
import type { OperationDefinitionNode, SelectionNode } from 'graphql'
import { isIterable, isPromise } from '../execution/run.ts'
import { countNodes } from '../memory/estimates.ts'
import { compilePlainVariables } from '../operation/plain-variables.ts'
import { compileEntityCalls, type RunLists } from './entity-calls.ts'
import { toError, valuesOf } from './entity-errors.ts'
import { runLists } from './entity-lists.ts'
import { listField, listKeys } from './entity-schema.ts'
import type { FetchResult, FetchVariables } from './transport.ts'

type Root = {
  readonly key: string
  readonly node: FieldNode
  readonly field: GraphQLField<unknown, unknown>
  readonly resolve: NonNullable<GraphQLField<unknown, unknown>['resolve']>
  readonly query: GraphQLObjectType
  /** The types that an item may have, by name. */
  readonly types: ReadonlyMap<string, GraphQLObjectType>
  /** True if each item must have a `__typename`. */
  readonly isAbstract: boolean
}
/** The items, or null or an error instead of the list. */
type Items = readonly unknown[] | null | Error

/** As in graphql-js. */
const VARIABLE_ERRORS_MAX = 50

/**
 * `schema` is the schema of the subgraph. Returns the compiled query and the number of nodes in the lists of all types, or undefined for any
 * other document.
 */
export function compileRootList(schema: GraphQLSchema, document: DocumentNode): { run: RunLists; nodes: number } | undefined {
  const [operation, ...others] = document.definitions
  if (operation?.kind !== Kind.OPERATION_DEFINITION || operation.operation !== OperationTypeNode.QUERY || others.length > 0)
    return undefined
  const root = rootOf(schema, operation)
  if (root === undefined) return undefined
  const { key, node } = root
  const keys = listKeys(key, [...root.types.keys()])
  const selections = Array.from(keys, ([type, list]) => listField(type, list, selectionsOn(type, root)))
  const selectionSet = { ...node.selectionSet, kind: Kind.SELECTION_SET, selections } as const
  const lists: DocumentNode = { kind: Kind.DOCUMENT, definitions: [{ ...operation, variableDefinitions: [], selectionSet }] }
  const runItems = compileEntityCalls(schema, lists, () => (items) => items)
  if (runItems === undefined) return undefined
  const coerce = compileVariables(schema, operation)
  const call = compileCall(schema, operation, root)
  const run: RunLists = (_root, context, given) => {
    const { coerced, errors } = coerce(given)
    if (coerced === undefined) return { errors }
    const finish = (items: Items): FetchResult | Promise<FetchResult> => {
      if (items === null || items instanceof Error) return withoutItems(key, items)
      try {
        return runLists(
          [{ key, variable: key, types: keys }],
          { [key]: items },
          (each) => runItems(each, context, coerced),
          refuseOtherType,
        )
      } catch (error) {
        return withoutItems(key, toError(error))
      }
    }
    const items = call(context, coerced)
    return isPromise(items) ? items.then(finish) : finish(items)
  }
  return { run, nodes: countNodes(lists) }
}

function rootOf(schema: GraphQLSchema, { selectionSet }: OperationDefinitionNode): Root | undefined {
  const query = schema.getQueryType()
  const [node, ...others] = selectionSet.selections
  if (query == null || node?.kind !== Kind.FIELD || (node.directives ?? []).length > 0 || others.length > 0) return undefined
  const field = query.getFields()[node.name.value]
  if (field?.resolve === undefined || !isListType(field.type)) return undefined
  const { ofType } = field.type
  const isAbstract = isAbstractType(ofType) && ofType.resolveType == null
  if (!isAbstract && !isObjectType(ofType)) return undefined
  const types = isAbstract ? schema.getPossibleTypes(ofType) : [ofType as GraphQLObjectType]
  const key = (node.alias ?? node.name).value
  if (key === '__proto__') return undefined
  return { key, node, field, resolve: field.resolve, query, types: new Map(types.map((type) => [type.name, type])), isAbstract }
}

/** The selections that apply to `type`. Fragments on the other types are left out. */
function selectionsOn(type: string, { node, types }: Root): readonly SelectionNode[] {
  return (node.selectionSet?.selections ?? []).filter((each) => {
    const condition = each.kind === Kind.INLINE_FRAGMENT ? each.typeCondition?.name.value : undefined
    return condition === undefined || condition === type || !types.has(condition)
  })
}

function compileVariables(schema: GraphQLSchema, { variableDefinitions = [] }: OperationDefinitionNode) {
  const areFlat = variableDefinitions.every(({ type }) => isFlat(typeFromAST(schema, type)))
  const plain = areFlat ? compilePlainVariables(schema, variableDefinitions) : undefined
  return (given: FetchVariables): ReturnType<typeof getVariableValues> => {
    const values = plain?.(given)
    if (values === undefined) return getVariableValues(schema, variableDefinitions, given, { maxErrors: VARIABLE_ERRORS_MAX })
    // Other fetches of the request have the same lists. A resolver may sort its own.
    const coerced: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(values)) coerced[name] = Array.isArray(value) ? value.slice() : value
    return { coerced }
  }
}

/** True for leaf types and lists of them. */
function isFlat(type: GraphQLType | undefined): boolean {
  const inner = getNullableType(type)
  return isLeafType(isListType(inner) ? getNullableType(inner.ofType) : inner)
}

function compileCall(schema: GraphQLSchema, operation: OperationDefinitionNode, root: Root) {
  const { key, node, field, resolve, query } = root
  const path = { key, prev: undefined, typename: query.name }
  const fixed = {
    fieldName: field.name,
    fieldNodes: [node],
    returnType: field.type,
    parentType: query,
    path,
    schema,
    fragments: {},
    operation,
  }
  return (context: object, variableValues: FetchVariables): Items | Promise<Items> => {
    try {
      const info: GraphQLResolveInfo = { ...fixed, rootValue: undefined, variableValues }
      const value = resolve(undefined, getArgumentValues(field, node, variableValues), context, info)
      return isPromise(value)
        ? Promise.resolve(value)
            .then((each) => itemsOf(root, each))
            .catch(toError)
        : itemsOf(root, value)
    } catch (error) {
      return toError(error)
    }
  }
}

function itemsOf(root: Root, value: unknown): Items | Promise<Items> {
  if (value === null || value === undefined) return null
  if (value instanceof Error) return value
  if (!isIterable(value)) return new Error(`"${coordinate(root)}" returned a value that is not a list`)
  const items = Array.isArray(value) ? (value as unknown[]) : Array.from(value)
  if (!items.some(isPromise)) return typed(root, items)
  return valuesOf(items.map((item) => Promise.resolve(item))).then((settled) => typed(root, settled))
}

/** Replaces each item that names none of the types with an error. */
function typed(root: Root, items: readonly unknown[]): readonly unknown[] {
  return root.isAbstract ? items.map((item) => typedItem(root, item)) : items
}

function typedItem(root: Root, item: unknown): unknown {
  if (item === null || item === undefined || item instanceof Error) return item
  try {
    if (root.types.has((item as { __typename?: string }).__typename ?? '')) return item
    // The types may be inaccessible to clients, so the message does not name them.
    return new Error(`"${coordinate(root)}" returned an item without a valid __typename`)
  } catch (error) {
    return toError(error)
  }
}

function coordinate({ query, field }: Root): string {
  return `${query.name}.${field.name}`
}

function withoutItems(key: string, items: null | Error): FetchResult {
  const data = { [key]: null }
  return items === null ? { data } : { data, errors: [new GraphQLError(items.message, { path: [key], originalError: items })] }
}

function refuseOtherType(): never {
  throw new Error('an item has another type than its list')
}
