/**
 * A cheap `_entities` field for a local subgraph. The resolver of `@apollo/subgraph` makes two promises per entity, and the executor
 * has to find the type of each. The fetches of plans ask for one entity type, or for the types of an interface. They are rewritten to
 * fields that return a plain list of one type:
 *
 *   query($representations: [_Any!]!) { _entities(representations: $representations) { ...on Video { likeCount } } }
 *   query { _entities: list_Video { ...on Video { likeCount } } }
 *
 * With several types, each has a list of its own. The entities are put into the order of the representations afterwards:
 *
 *   query { _entities_Video: list_Video { ...on Video { likeCount } } _entities_Article: list_Article { ...on Article { likeCount } } }
 *
 * The representations are in the root value (key: representations) instead of a variable, so that they are not coerced. A type without
 * a reference resolver uses them as its objects.
 *
 * The rewritten fields are on a separate root type, in a second schema that shares all other types with the first. Documents with
 * conditions on interfaces use the subgraph's own `_entities`.
 */
import { GraphQLList, GraphQLObjectType, GraphQLSchema, Kind, getOperationAST, isObjectType, visit } from 'graphql'
import type { DocumentNode, FieldNode, GraphQLFieldConfigMap, GraphQLResolveInfo, OperationDefinitionNode, SelectionNode } from 'graphql'
import { toError } from './entity-errors.ts'

export type Representation = Record<string, unknown>
type ResolveReference = (representation: Representation, context: object, info: GraphQLResolveInfo) => unknown

export const LIST_PREFIX = 'list_'

export type EntityDocument = { readonly document: DocumentNode; readonly lists: readonly EntityLists[] }

/** The lists that replace one `_entities` field: its response key and variable, and the key of the list of each type. */
export type EntityLists = { readonly key: string; readonly variable: string; readonly types: ReadonlyMap<string, string> }

export type EntitySchema = {
  readonly schema: GraphQLSchema
  /** The rewritten document. Undefined if the document has conditions on interfaces, or other fields. */
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
  const entitiesOf = referenceResolver(type)
  return (root: Record<string, readonly Representation[]>, _: unknown, context: object, info: GraphQLResolveInfo): readonly unknown[] =>
    entitiesOf(root[info.path.key] ?? [], context, info)
}

/** The entities of the representations. An entity may be a promise. */
export function referenceResolver(type: GraphQLObjectType) {
  const { apollo } = type.extensions as { apollo?: { subgraph?: { resolveReference?: ResolveReference } } }
  const resolveReference = apollo?.subgraph?.resolveReference
  return (representations: readonly Representation[], context: object, info: GraphQLResolveInfo): readonly unknown[] =>
    resolveReference === undefined
      ? representations
      : representations.map((representation) => referenceOrError(resolveReference, representation, context, info))
}

/** A resolver that throws fails its own entity, not the list. */
function referenceOrError(resolve: ResolveReference, representation: Representation, context: object, info: GraphQLResolveInfo): unknown {
  try {
    return resolve(representation, context, info)
  } catch (error) {
    return toError(error)
  }
}

function rewriteDocument(document: DocumentNode, isObject: (name: string) => boolean): EntityDocument | undefined {
  const operation = getOperationAST(document)
  if (operation == null) return undefined
  const lists: EntityLists[] = []
  const selections: FieldNode[] = []
  for (const field of operation.selectionSet.selections) {
    const rewritten = field.kind === Kind.FIELD && field.name.value === '_entities' ? rewriteField(field, isObject) : undefined
    if (rewritten === undefined) return undefined
    lists.push(rewritten.lists)
    selections.push(...rewritten.fields)
  }
  return { document: withSelections(document, operation, selections, new Set(lists.map(({ variable }) => variable))), lists }
}

function rewriteField(field: FieldNode, isObject: (name: string) => boolean): { lists: EntityLists; fields: FieldNode[] } | undefined {
  const byType = selectionsByType(field.selectionSet?.selections ?? [])
  const value = field.arguments?.[0]?.value
  if (byType === undefined || byType.size === 0 || ![...byType.keys()].every(isObject) || value?.kind !== Kind.VARIABLE) return undefined
  const key = field.alias?.value ?? field.name.value
  const types = listKeys(key, [...byType.keys()])
  const fields = [...byType].map(([type, selections]) => listField(type, types.get(type) ?? key, selections))
  return { lists: { key, variable: value.name.value, types }, fields }
}

/** Maps each type to the key of its list. The lists replace the field with the response key `key`. */
export function listKeys(key: string, types: readonly string[]): EntityLists['types'] {
  return new Map(types.map((type) => [type, types.length === 1 ? key : `${key}_${type}`]))
}

export function listField(type: string, key: string, selections: readonly SelectionNode[]): FieldNode {
  return {
    kind: Kind.FIELD,
    name: { kind: Kind.NAME, value: LIST_PREFIX + type },
    alias: { kind: Kind.NAME, value: key },
    selectionSet: { kind: Kind.SELECTION_SET, selections },
  }
}

/** Undefined if a selection has no condition on a type. */
function selectionsByType(selections: readonly SelectionNode[]): Map<string, SelectionNode[]> | undefined {
  const byType = new Map<string, SelectionNode[]>()
  for (const selection of selections) {
    const type = selection.kind === Kind.INLINE_FRAGMENT ? selection.typeCondition?.name.value : undefined
    if (type === undefined) return undefined
    byType.set(type, [...(byType.get(type) ?? []), selection])
  }
  return byType
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
