/**
 * Plans root fields that several subgraphs share and that return an interface or union, such as `subjects`. The native planner (0.0.38)
 * finds no plan for an operation with such a field if its selection needs more than one subgraph and the interface has more than one type.
 *
 * Such fields are then planned as if only one subgraph had them: the subgraph with most of the selected fields. The plan begins there, and
 * fetches from the other subgraphs by the keys of the entities. One plan has all fields that begin at a subgraph, so an operation has at most one plan
 * per subgraph, and one for its other root fields.
 */
import type { PlanNode } from '@graphql-hive/router-query-planner'
import { Kind, getOperationAST, parse, visit } from 'graphql'
import type {
  ConstDirectiveNode,
  DocumentNode,
  FieldDefinitionNode,
  FieldNode,
  ObjectTypeDefinitionNode,
  OperationDefinitionNode,
  SelectionSetNode,
  TypeNode,
} from 'graphql'
import { fragmentsOf, type Fragments } from './plan-document.ts'

/** Throws if there is no plan. */
export type PlanDocument = (document: DocumentNode) => PlanNode | undefined

export type SharedRoots = {
  /** The subgraphs that share a root field, by its name. */
  readonly owners: ReadonlyMap<string, readonly string[]>
  /** The subgraphs that have a field, by its name, if not all have it. Types of one name rarely differ in this. */
  readonly places: ReadonlyMap<string, ReadonlySet<string>>
  /** The supergraph in which one subgraph alone has the shared root fields. */
  ownedBy(subgraph: string): DocumentNode
}

/** Undefined if no root field is shared. */
export function sharedRoots(supergraph: DocumentNode): SharedRoots | undefined {
  const types = supergraph.definitions.filter((definition) => definition.kind === Kind.OBJECT_TYPE_DEFINITION)
  const query = types.find(({ name }) => name.value === 'Query')
  const all = graphsOf(query?.directives ?? [], 'join__type')
  const abstract = new Set(
    supergraph.definitions.flatMap((definition) =>
      definition.kind === Kind.INTERFACE_TYPE_DEFINITION || definition.kind === Kind.UNION_TYPE_DEFINITION ? [definition.name.value] : [],
    ),
  )
  const owners = new Map(
    (query?.fields ?? []).flatMap((field) => {
      const graphs = fieldGraphs(field) ?? all
      return graphs.length > 1 && abstract.has(nameOf(field.type)) ? [[field.name.value, graphs] as const] : []
    }),
  )
  return owners.size === 0 ? undefined : { owners, places: placesOf(types), ownedBy: (graph) => ownedBy(graph, supergraph, owners) }
}

function placesOf(types: readonly ObjectTypeDefinitionNode[]): Map<string, Set<string>> {
  const places = new Map<string, Set<string>>()
  for (const type of types) {
    for (const field of type.fields ?? []) {
      const graphs = fieldGraphs(field)
      if (graphs !== undefined) places.set(field.name.value, new Set([...(places.get(field.name.value) ?? []), ...graphs]))
    }
  }
  return places
}

/** `plannerOf`: the planner over `ownedBy`. Throws the planner's error if the operation has no plan in this way either. */
export function planSharedRoots(
  document: DocumentNode,
  whole: PlanDocument,
  shared: SharedRoots,
  plannerOf: (subgraph: string) => PlanDocument,
): PlanNode | undefined {
  try {
    return whole(document)
  } catch (error) {
    const parts = partsOf(document, shared)
    if (parts === undefined) throw error
    const plans = [...parts].flatMap(([owner, part]) => (owner === '' ? whole(part) : plannerOf(owner)(part)) ?? [])
    return plans.length > 1 ? { kind: 'Parallel', nodes: plans } : plans[0]
  }
}

/** A document per subgraph at which shared root fields begin; the other root fields by ''. Undefined without shared root fields. */
function partsOf(document: DocumentNode, shared: SharedRoots): Map<string, DocumentNode> | undefined {
  const operation = getOperationAST(document)
  if (operation?.operation !== 'query') return undefined
  const fragments = fragmentsOf(document)
  const byKey = new Map<string, FieldNode[]>()
  for (const field of fieldsOf(operation.selectionSet, fragments)) {
    const key = (field.alias ?? field.name).value
    byKey.set(key, [...(byKey.get(key) ?? []), field])
  }
  const parts = new Map<string, FieldNode[]>()
  for (const fields of byKey.values()) {
    const owner = ownerOf(fields, fragments, shared)
    parts.set(owner, [...(parts.get(owner) ?? []), ...fields])
  }
  if (parts.size === 0 || (parts.size === 1 && parts.has(''))) return undefined
  return new Map([...parts].map(([owner, fields]) => [owner, withRoot(document, operation, fields)]))
}

/** The subgraph with most of the fields that are selected on the objects. Empty for a root field that is not shared. */
function ownerOf(roots: readonly FieldNode[], fragments: Fragments, { owners, places }: SharedRoots): string {
  const graphs = owners.get(roots[0]?.name.value ?? '') ?? []
  const selected = roots.flatMap(({ selectionSet }) => (selectionSet === undefined ? [] : fieldsOf(selectionSet, fragments)))
  const counts = graphs.map((graph) => selected.filter(({ name }) => places.get(name.value)?.has(graph) === true).length)
  return graphs[counts.indexOf(Math.max(...counts))] ?? ''
}

/** The fields of a selection, within fragments too. Conditions are decided before an operation is planned. */
function fieldsOf({ selections }: SelectionSetNode, fragments: Fragments): FieldNode[] {
  return selections.flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return [selection]
    const inner = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value)
    return inner === undefined ? [] : fieldsOf(inner.selectionSet, fragments)
  })
}

/** Unused variables and fragments stay: the planner does not validate. */
function withRoot(document: DocumentNode, operation: OperationDefinitionNode, selections: readonly FieldNode[]): DocumentNode {
  const part = { ...operation, selectionSet: { ...operation.selectionSet, selections } }
  return { ...document, definitions: document.definitions.map((definition) => (definition === operation ? part : definition)) }
}

function ownedBy(graph: string, supergraph: DocumentNode, owners: SharedRoots['owners']): DocumentNode {
  const [type] = parse(`type T { f: Int @join__field(graph: ${graph}) }`, { noLocation: true }).definitions
  const own = type?.kind === Kind.OBJECT_TYPE_DEFINITION ? (type.fields?.[0]?.directives ?? []) : []
  return visit(supergraph, {
    ObjectTypeDefinition(definition) {
      if (definition.name.value !== 'Query') return false
      const fields = (definition.fields ?? []).map((field) =>
        owners.get(field.name.value)?.includes(graph) === true
          ? { ...field, directives: [...(field.directives ?? []).filter(({ name }) => name.value !== 'join__field'), ...own] }
          : field,
      )
      return { ...definition, fields }
    },
  })
}

/** Undefined if the composer named no subgraphs, because all of them have the field. */
function fieldGraphs({ directives = [] }: FieldDefinitionNode): readonly string[] | undefined {
  const isJoined = directives.some(({ name }) => name.value === 'join__field')
  return isJoined ? graphsOf(directives, 'join__field') : undefined
}

function graphsOf(directives: readonly ConstDirectiveNode[], name: string): string[] {
  return directives.flatMap((directive) => {
    const value =
      directive.name.value === name ? directive.arguments?.find((argument) => argument.name.value === 'graph')?.value : undefined
    return value?.kind === Kind.ENUM ? [value.value] : []
  })
}

function nameOf(type: TypeNode): string {
  return type.kind === Kind.NAMED_TYPE ? type.name.value : nameOf(type.type)
}
