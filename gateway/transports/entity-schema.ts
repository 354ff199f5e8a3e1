/**
 * A cheap `_entities` field for a local subgraph. The resolver of `@apollo/subgraph` makes two promises per entity, and the executor
 * has to find the type of each. Fetches of plans nearly always ask for entities of one type. They are rewritten to a field that returns
 * a plain list of that type:
 *
 *   query($representations: [_Any!]!) { _entities(representations: $representations) { ...on Video { likeCount } } }
 *   query { _entities: list_Video { ...on Video { likeCount } } }
 *
 * The representations are in the root value (key: representations) instead of a variable, so that they are not coerced. A type without
 * a reference resolver uses them as its objects.
 *
 * The rewritten fields are on a separate root type, in a second schema that shares all other types with the first. Other documents
 * (several types at once, interfaces) use the subgraph's own `_entities`.
 */
import { GraphQLList, GraphQLObjectType, GraphQLSchema, Kind, isObjectType, visit } from 'graphql'
import type { DocumentNode, FieldNode, GraphQLFieldConfigMap, GraphQLResolveInfo, OperationDefinitionNode, SelectionNode } from 'graphql'

type Representation = Record<string, unknown>
type ResolveReference = (representation: Representation, context: object, info: GraphQLResolveInfo) => unknown

const LIST_PREFIX = 'list_'

export type EntityDocument = {
  readonly document: DocumentNode
  /** The response keys of the list fields, each with the variable that holds its representations. */
  readonly lists: readonly { readonly key: string; readonly variable: string }[]
}

export type EntitySchema = {
  readonly schema: GraphQLSchema
  /** The rewritten document. Undefined if the document asks for several types, or for other fields. */
  rewrite(document: DocumentNode): EntityDocument | undefined
}

/** Undefined for a subgraph without entities. */
export function makeEntitySchema(schema: GraphQLSchema): EntitySchema | undefined {
  if (schema.getQueryType()?.getFields()['_entities'] === undefined) return undefined
  const types = Object.values(schema.getTypeMap()).filter(isObjectType)
  const fields: GraphQLFieldConfigMap<Record<string, readonly Representation[]>, object> = {}
  for (const type of types) {
    if (type.name.startsWith('__')) continue
    fields[LIST_PREFIX + type.name] = { type: new GraphQLList(type), resolve: listResolver(type) }
  }
  const query = new GraphQLObjectType({ name: 'EntityLists_', fields })
  const config = schema.toConfig()
  return {
    schema: new GraphQLSchema({ ...config, query, mutation: null, subscription: null, assumeValid: true }),
    rewrite: (document) => rewriteDocument(document, (name) => isObjectType(schema.getType(name))),
  }
}

function listResolver(type: GraphQLObjectType) {
  const { apollo } = type.extensions as { apollo?: { subgraph?: { resolveReference?: ResolveReference } } }
  const resolveReference = apollo?.subgraph?.resolveReference
  return (root: Record<string, readonly Representation[]>, _: unknown, context: object, info: GraphQLResolveInfo): readonly unknown[] => {
    const representations = root[info.path.key] ?? []
    if (resolveReference === undefined) return representations
    return representations.map((representation) => referenceOrError(resolveReference, representation, context, info))
  }
}

/** A resolver that throws fails its own entity, not the list. */
function referenceOrError(resolve: ResolveReference, representation: Representation, context: object, info: GraphQLResolveInfo): unknown {
  try {
    return resolve(representation, context, info)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error), { cause: error })
  }
}

function rewriteDocument(document: DocumentNode, isObject: (name: string) => boolean): EntityDocument | undefined {
  const operation = document.definitions.find((definition) => definition.kind === Kind.OPERATION_DEFINITION)
  if (operation === undefined) return undefined
  const lists: { key: string; variable: string }[] = []
  const selections: FieldNode[] = []
  for (const field of operation.selectionSet.selections) {
    const list = field.kind === Kind.FIELD && field.name.value === '_entities' ? rewriteField(field, isObject) : undefined
    if (list === undefined) return undefined
    lists.push({ key: list.key, variable: list.variable })
    selections.push(list.field)
  }
  return { document: withSelections(document, operation, selections, new Set(lists.map(({ variable }) => variable))), lists }
}

function rewriteField(field: FieldNode, isObject: (name: string) => boolean) {
  const type = onlyType(field.selectionSet?.selections ?? [])
  const value = field.arguments?.[0]?.value
  if (type === undefined || !isObject(type) || value?.kind !== Kind.VARIABLE) return undefined
  const key = field.alias?.value ?? field.name.value
  const list: FieldNode = {
    kind: Kind.FIELD,
    name: { kind: Kind.NAME, value: LIST_PREFIX + type },
    alias: { kind: Kind.NAME, value: key },
    ...(field.selectionSet === undefined ? {} : { selectionSet: field.selectionSet }),
  }
  return { key, variable: value.name.value, field: list }
}

/** The only type in the conditions of all selections. */
function onlyType(selections: readonly SelectionNode[]): string | undefined {
  const types = new Set(
    selections.map((selection) => (selection.kind === Kind.INLINE_FRAGMENT ? selection.typeCondition?.name.value : undefined)),
  )
  const [type] = types
  return types.size === 1 ? type : undefined
}

function withSelections(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  selections: FieldNode[],
  gone: ReadonlySet<string>,
): DocumentNode {
  return visit(document, {
    OperationDefinition: (node) =>
      node === operation
        ? {
            ...node,
            variableDefinitions: (node.variableDefinitions ?? []).filter(({ variable }) => !gone.has(variable.name.value)),
            selectionSet: { kind: Kind.SELECTION_SET, selections },
          }
        : undefined,
  })
}
