/**
 * Runs a document of entity lists (entity-schema.ts) without graphql-jit: resolve the references, call the resolvers of the fields, complete
 * the values. Only documents with plain fields (plain-types.ts) run here.
 */
import { GraphQLList, GraphQLObjectType, GraphQLSchema, Kind, defaultFieldResolver, execute, isObjectType } from 'graphql'
import type { DocumentNode, FieldNode, GraphQLFieldResolver, GraphQLOutputType, GraphQLResolveInfo, OperationDefinitionNode } from 'graphql'
import { compileFields } from './entity-fields.ts'
import { LIST_PREFIX, referenceResolver, type Representation } from './entity-schema.ts'
import { compileComplete, type Complete } from './entity-values.ts'
import { plainSelection, plainTypes, type PlainSelection } from './plain-types.ts'
import type { FetchError, FetchResult, FetchVariables } from './transport.ts'

type Root = Readonly<Record<string, readonly Representation[]>>
/** `root`: the representations of each list, by its key. */
export type RunLists = (root: unknown, context: object, variables: FetchVariables) => FetchResult | Promise<FetchResult>

type EntitiesOf = typeof referenceResolver
type List = { readonly key: string; readonly node: FieldNode; readonly selection: PlainSelection }
type Lists = Record<string, unknown[]>

/**
 * `schema` is the schema of the subgraph. `entitiesOf` returns the function that makes the entities of a type. By default, it resolves
 * references. Returns undefined for a document with other than plain fields.
 */
export function compileEntityCalls(
  schema: GraphQLSchema,
  document: DocumentNode,
  entitiesOf: EntitiesOf = referenceResolver,
): RunLists | undefined {
  const [operation, ...others] = document.definitions
  if (operation?.kind !== Kind.OPERATION_DEFINITION || others.length > 0) return undefined
  const lists = operation.selectionSet.selections.map((node) => (node.kind === Kind.FIELD ? listOf(schema, node) : undefined))
  if (!lists.every((list) => list !== undefined) || new Set(lists.map(({ key }) => key)).size < lists.length) return undefined
  const compiled = lists.map((list) => ({
    key: list.key,
    resolve: compileResolve(schema, operation, list, entitiesOf(list.selection.type)),
    complete: compileComplete(list.key, list.selection),
  }))
  return (root, context, variables) => {
    const complete = (values: readonly unknown[][]): FetchResult | Promise<FetchResult> => {
      const resolved: Lists = Object.fromEntries(compiled.map(({ key }, at) => [key, values[at] ?? []]))
      return completed(compiled, resolved) ?? completeSlowly(schema, document, resolved, context, variables)
    }
    const representations = root as Root
    const values = compiled.map(({ key, resolve }) => resolve(representations[key] ?? [], context, variables))
    return values.some((each) => each instanceof Promise)
      ? Promise.all(values.map((each) => Promise.resolve(each))).then(complete)
      : complete(values as unknown[][])
  }
}

function listOf(schema: GraphQLSchema, node: FieldNode): List | undefined {
  const type = schema.getType(node.name.value.slice(LIST_PREFIX.length))
  const selection = isObjectType(type) ? plainSelection(type, node.selectionSet?.selections ?? []) : undefined
  return selection && { key: (node.alias ?? node.name).value, node, selection }
}

function compileResolve(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  { key, node, selection }: List,
  entitiesOf: ReturnType<EntitiesOf>,
) {
  const { type } = selection
  const query = schema.getQueryType() ?? type
  const listPath = { key, prev: undefined, typename: query.name }
  const info = (parentType: GraphQLObjectType, field: FieldNode, returnType: GraphQLOutputType) => {
    const { value: fieldName } = field.name
    const fieldNodes = [field]
    const fragments = {}
    return (path: GraphQLResolveInfo['path'], variableValues: FetchVariables): GraphQLResolveInfo => {
      return { fieldName, fieldNodes, returnType, parentType, path, schema, fragments, rootValue: undefined, operation, variableValues }
    }
  }
  const listInfo = info(query, node, new GraphQLList(type))
  const resolveFields = compileFields(selection, ({ name, node: each, field }) => {
    const ofField = info(type, each, field?.type ?? type)
    return (place, variables) =>
      ofField({ key: name, prev: { key: place, prev: listPath, typename: undefined }, typename: type.name }, variables)
  })
  return (representations: readonly Representation[], context: object, variables: FetchVariables) => {
    const entities = entitiesOf(representations, context, listInfo(listPath, variables))
    return resolveFields(entities, context, variables)
  }
}

/** Undefined if a list needs graphql-js. */
function completed(lists: readonly { readonly key: string; readonly complete: Complete }[], values: Lists): FetchResult | undefined {
  const errors: FetchError[] = []
  const data: Lists = {}
  for (const { key, complete } of lists) {
    const entities = complete(values[key] ?? [], errors)
    if (entities === undefined) return undefined
    data[key] = entities
  }
  return errors.length === 0 ? { data } : { data, errors }
}

const plainSchemas = new WeakMap<GraphQLSchema, GraphQLSchema>()

/** Completes the values with graphql-js, which converts leaf values and reports errors and nulls. */
function completeSlowly(
  schema: GraphQLSchema,
  document: DocumentNode,
  rootValue: Lists,
  contextValue: object,
  variableValues: FetchVariables,
): FetchResult | Promise<FetchResult> {
  let plain = plainSchemas.get(schema)
  if (plain === undefined) plainSchemas.set(schema, (plain = plainSchema(schema)))
  return execute({ schema: plain, document, rootValue, contextValue, variableValues, fieldResolver: valueOf })
}

function plainSchema(schema: GraphQLSchema): GraphQLSchema {
  const resolve = (root: Lists, _: unknown, __: unknown, info: GraphQLResolveInfo) => root[info.path.key]
  const fields = [...plainTypes(schema)].map(([name, type]) => [LIST_PREFIX + name, { type: new GraphQLList(type), resolve }] as const)
  return new GraphQLSchema({
    query: new GraphQLObjectType({ name: 'EntityLists_', fields: Object.fromEntries(fields) }),
    assumeValid: true,
  })
}

/** The default resolver calls a property that is a function. The fields of an entity have their values already, so a function there is not called. */
const valueOf: GraphQLFieldResolver<Record<string, unknown>, unknown> = (source, args, context, info) => {
  const isOfEntity = info.path.prev?.prev?.prev === undefined
  return isOfEntity ? source[info.fieldName] : defaultFieldResolver(source, args, context, info)
}
