/**
 * Runs a document of entity lists (entity-schema.ts) without graphql-jit: resolve the references, call the resolvers of the fields, complete
 * the values. jit runs the documents that have more than plain fields; see plain-types.ts.
 */
import { GraphQLList, GraphQLObjectType, GraphQLSchema, Kind, defaultFieldResolver, execute, isObjectType } from 'graphql'
import type { FieldNode, GraphQLFieldResolver, GraphQLResolveInfo, OperationDefinitionNode } from 'graphql'
import { isPromise } from '../execution/run.ts'
import { compileFields, toError } from './entity-fields.ts'
import { LIST_PREFIX, referenceResolver, type EntityDocument, type Representation } from './entity-schema.ts'
import { compileComplete } from './entity-values.ts'
import { plainSelection, plainTypes } from './plain-types.ts'
import type { FetchResult, FetchVariables } from './transport.ts'

type Root = Readonly<Record<string, readonly Representation[]>>
export type RunLists = (root: Root, context: object, variables: FetchVariables) => Promise<FetchResult>

type List = { readonly key: string; readonly node: FieldNode; readonly type: GraphQLObjectType; readonly fields: readonly FieldNode[] }

/** `schema`: of the subgraph. The result is undefined for documents that jit has to run. */
export function makeEntityCalls(schema: GraphQLSchema): (document: EntityDocument) => RunLists | undefined {
  const types = [...plainTypes(schema)].map(
    ([name, type]) => [LIST_PREFIX + name, { type: new GraphQLList(type), resolve: itemsOf }] as const,
  )
  const query = new GraphQLObjectType({ name: 'EntityLists_', fields: Object.fromEntries(types) })
  const plain = new GraphQLSchema({ query, assumeValid: true })

  return ({ document }) => {
    const [operation, ...others] = document.definitions
    if (operation?.kind !== Kind.OPERATION_DEFINITION || others.length > 0) return undefined
    const lists = operation.selectionSet.selections.map((node) => (node.kind === Kind.FIELD ? listOf(schema, node) : undefined))
    if (!lists.every((list) => list !== undefined)) return undefined
    const compiled = lists.map((list) => {
      const { key, type, fields } = list
      return { key, resolve: compileList(schema, operation, list), complete: compileComplete(type, fields) }
    })
    return async (root, context, variables) => {
      const values: Record<string, unknown[]> = {}
      const data: Record<string, unknown[] | undefined> = {}
      await Promise.all(
        compiled.map(async ({ key, resolve, complete }) => {
          values[key] = await resolve(root[key] ?? [], context, variables)
          data[key] = complete(values[key])
        }),
      )
      const isComplete = Object.values(data).every((list) => list !== undefined)
      return isComplete ? { data } : execute({ schema: plain, document, rootValue: values, fieldResolver: valueOf })
    }
  }
}

function itemsOf(root: Record<string, unknown[]>, _: unknown, __: unknown, info: GraphQLResolveInfo): unknown {
  return root[info.path.key]
}

/** graphql-js calls a property that is a function. The value of a resolver is not called. */
const valueOf: GraphQLFieldResolver<Record<string, unknown>, unknown> = (source, args, context, info) => {
  const isOfEntity = info.path.prev?.prev?.prev === undefined
  return isOfEntity ? source[info.fieldName] : defaultFieldResolver(source, args, context, info)
}

function listOf(schema: GraphQLSchema, node: FieldNode): List | undefined {
  const type = schema.getType(node.name.value.slice(LIST_PREFIX.length))
  const fields = isObjectType(type) ? plainSelection(type, node.selectionSet?.selections ?? []) : undefined
  if (!isObjectType(type) || fields === undefined) return undefined
  return { key: (node.alias ?? node.name).value, node, type, fields }
}

function compileList(schema: GraphQLSchema, operation: OperationDefinitionNode, { key, node, type, fields }: List) {
  const path = { key, prev: undefined, typename: undefined }
  const resolveFields = compileFields({ schema, operation, type, fields, path })
  const entitiesOf = referenceResolver(type)
  const listInfo = {
    fieldName: node.name.value,
    fieldNodes: [node],
    returnType: new GraphQLList(type),
    parentType: schema.getQueryType() ?? type,
    path,
    schema,
    fragments: {},
    rootValue: undefined,
    operation,
  }
  return async (representations: readonly Representation[], context: object, variables: FetchVariables): Promise<unknown[]> => {
    const entities = entitiesOf(representations, context, { ...listInfo, variableValues: variables })
    const known = entities.some(isPromise) ? await Promise.all(entities.map((each) => Promise.resolve(each).catch(toError))) : entities
    return resolveFields(known, context, variables)
  }
}
