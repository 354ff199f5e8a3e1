/**
 * Runs a query of one list of objects without graphql-jit: calls the resolver of the root field, and handles the items as the entities of a
 * fetch (entity-calls.ts). Each type of items has a list of its own, as in entity-schema.ts:
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
  getVariableValues,
  isAbstractType,
  isListType,
  isObjectType,
} from 'graphql'
import type { DocumentNode, FieldNode, GraphQLField, GraphQLObjectType, GraphQLResolveInfo, GraphQLSchema } from 'graphql'
import type { OperationDefinitionNode, SelectionNode } from 'graphql'
import { isPromise } from '../execution/run.ts'
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
  /** Whether an item names its type. */
  readonly isAbstract: boolean
}
/** The items of the list, or the null or the error in its place. */
type Items = readonly unknown[] | null | Error

const VARIABLE_ERRORS_MAX = 50

/** `schema` is the schema of the subgraph. `types`: the number of types. Returns undefined for a document with other than one such list. */
export function compileRootList(schema: GraphQLSchema, document: DocumentNode): { run: RunLists; types: number } | undefined {
  const [operation, ...others] = document.definitions
  if (operation?.kind !== Kind.OPERATION_DEFINITION || operation.operation !== OperationTypeNode.QUERY || others.length > 0)
    return undefined
  const root = rootOf(schema, operation)
  if (root === undefined) return undefined
  const { key, node } = root
  const keys = listKeys(key, [...root.types.keys()])
  const selections = Array.from(keys, ([type, list]) => listField(type, list, selectionsOn(type, root)))
  const lists = {
    ...operation,
    variableDefinitions: [],
    selectionSet: { ...node.selectionSet, kind: Kind.SELECTION_SET, selections },
  } as const
  const runItems = compileEntityCalls(schema, { kind: Kind.DOCUMENT, definitions: [lists] }, () => (items) => items)
  if (runItems === undefined) return undefined
  const coerce = compileCoercion(schema, operation)
  const call = compileCall(schema, operation, root)
  const run: RunLists = (_root, context, given) => {
    const { coerced, errors } = coerce(given)
    if (coerced === undefined) return { errors }
    const finish = (items: Items): FetchResult | Promise<FetchResult> =>
      items === null || items instanceof Error
        ? withoutItems(key, items)
        : runLists([{ key, variable: key, types: keys }], { [key]: items }, (each) => runItems(each, context, coerced), noOtherType)
    const items = call(context, coerced)
    return isPromise(items) ? items.then(finish) : finish(items)
  }
  return { run, types: keys.size }
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
  return { key, node, field, resolve: field.resolve, query, types: new Map(types.map((type) => [type.name, type])), isAbstract }
}

/** Without the fragments on other types. */
function selectionsOn(type: string, { node, types }: Root): readonly SelectionNode[] {
  return (node.selectionSet?.selections ?? []).filter((each) => {
    const condition = each.kind === Kind.INLINE_FRAGMENT ? each.typeCondition?.name.value : undefined
    return condition === undefined || condition === type || !types.has(condition)
  })
}

function compileCoercion(schema: GraphQLSchema, { variableDefinitions = [] }: OperationDefinitionNode) {
  const plain = compilePlainVariables(schema, variableDefinitions)
  return (given: FetchVariables): ReturnType<typeof getVariableValues> => {
    const coerced = plain(given)
    return coerced === undefined ? getVariableValues(schema, variableDefinitions, given, { maxErrors: VARIABLE_ERRORS_MAX }) : { coerced }
  }
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
  if (typeof value !== 'object' || !(Symbol.iterator in value)) return new Error(`the value of "${place(root)}" is not a list`)
  const items = Array.isArray(value) ? (value as unknown[]) : Array.from(value as Iterable<unknown>)
  if (!items.some(isPromise)) return typed(root, items)
  return valuesOf(items.map((item) => Promise.resolve(item))).then((settled) => typed(root, settled))
}

/** With an error in place of each item that does not name one of the types. */
function typed(root: Root, items: readonly unknown[]): readonly unknown[] {
  const { types, isAbstract } = root
  const isTyped = (item: unknown): boolean =>
    item === null || item === undefined || item instanceof Error || types.has((item as { __typename?: string }).__typename ?? '')
  if (!isAbstract || items.every(isTyped)) return items
  const names = [...types.keys()].join(', ')
  return items.map((item) => (isTyped(item) ? item : new Error(`an item of "${place(root)}" has no __typename of these: ${names}`)))
}

function place({ query, field }: Root): string {
  return `${query.name}.${field.name}`
}

function withoutItems(key: string, items: null | Error): FetchResult {
  const data = { [key]: null }
  return items === null ? { data } : { data, errors: [new GraphQLError(items.message, { path: [key], originalError: items })] }
}

function noOtherType(): never {
  throw new Error('an item has another type than its list')
}
