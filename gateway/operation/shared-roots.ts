/**
 * Plans root fields that several subgraphs share and that return an interface or union, such as `subjects`. The native planner (0.0.38)
 * finds no plan for such a field if its selection needs more than one subgraph and the interface has more than one type.
 *
 * Such a field is then planned alone, once per subgraph that shares it, as if only that subgraph had it. The plan with the fewest fetches
 * is taken. It begins at a subgraph that has some of the selected fields, and asks the others by the keys of the entities.
 */
import type { PlanNode } from '@graphql-hive/router-query-planner'
import { Kind, parse, visit } from 'graphql'
import type {
  ConstDirectiveNode,
  DocumentNode,
  FieldDefinitionNode,
  FieldNode,
  OperationDefinitionNode,
  SelectionSetNode,
  TypeNode,
} from 'graphql'
import { summarizePlan } from '../supergraph/plan-summary.ts'
import { fragmentsOf, type Fragments } from './plan-document.ts'

/** Throws if there is no plan. */
export type PlanDocument = (document: DocumentNode) => PlanNode | undefined

/** The names of the shared root fields with an abstract type, and a supergraph per subgraph in which it has them alone. */
export type SharedRoots = { readonly fields: ReadonlySet<string>; readonly owned: readonly DocumentNode[] }

/** Undefined if no root field is shared. */
export function sharedRoots(supergraph: DocumentNode): SharedRoots | undefined {
  const abstract = new Set<string>()
  for (const definition of supergraph.definitions)
    if (definition.kind === Kind.INTERFACE_TYPE_DEFINITION || definition.kind === Kind.UNION_TYPE_DEFINITION)
      abstract.add(definition.name.value)
  const query = supergraph.definitions.find(
    (definition) => definition.kind === Kind.OBJECT_TYPE_DEFINITION && definition.name.value === 'Query',
  )
  if (query?.kind !== Kind.OBJECT_TYPE_DEFINITION) return undefined
  const all = graphsOf(query.directives ?? [], 'join__type')
  const owners = new Map<string, readonly string[]>()
  for (const field of query.fields ?? []) {
    const graphs = fieldGraphs(field) ?? all
    if (graphs.length > 1 && abstract.has(nameOf(field.type))) owners.set(field.name.value, graphs)
  }
  if (owners.size === 0) return undefined
  const graphs = [...new Set([...owners.values()].flat())]
  return { fields: new Set(owners.keys()), owned: graphs.map((graph) => ownedBy(graph, supergraph, owners)) }
}

/** `planners`: one per supergraph of `owned`. Throws the error of the whole document if one of its parts has no plan either. */
export function planSharedRoots(
  document: DocumentNode,
  whole: PlanDocument,
  { fields }: SharedRoots,
  planners: () => readonly PlanDocument[],
): PlanNode | undefined {
  try {
    return whole(document)
  } catch (error) {
    const parts = partsOf(document, fields)
    if (parts === undefined) throw error
    const plans = parts.flatMap((part) => fewestFetches([whole, ...planners()], part, error) ?? [])
    return plans.length > 1 ? { kind: 'Parallel', nodes: plans } : plans[0]
  }
}

function fewestFetches(planners: readonly PlanDocument[], part: DocumentNode, error: unknown): PlanNode | undefined {
  let best: { plan: PlanNode | undefined; fetches: number } | undefined
  for (const plan of planners) {
    try {
      const made = plan(part)
      const { fetches } = summarizePlan(made)
      if (best === undefined || fetches < best.fetches) best = { plan: made, fetches }
    } catch {
      // Another subgraph may have a plan.
    }
  }
  if (best === undefined) throw error
  return best.plan
}

/** One document per shared root field, and one with the other root fields. Undefined unless the operation is a query with shared fields. */
function partsOf(document: DocumentNode, shared: ReadonlySet<string>): DocumentNode[] | undefined {
  const operation = document.definitions.find((definition) => definition.kind === Kind.OPERATION_DEFINITION)
  if (operation?.kind !== Kind.OPERATION_DEFINITION || operation.operation !== 'query') return undefined
  const byKey = new Map<string, FieldNode[]>()
  for (const field of rootFields(operation.selectionSet, fragmentsOf(document))) {
    const key = shared.has(field.name.value) ? (field.alias ?? field.name).value : ''
    byKey.set(key, [...(byKey.get(key) ?? []), field])
  }
  if (![...byKey.keys()].some((key) => key !== '')) return undefined
  return [...byKey.values()].map((selections) => withRoot(document, operation, selections))
}

/** Conditions are decided before an operation is planned, so the fragments at the root have none. */
function rootFields({ selections }: SelectionSetNode, fragments: Fragments): FieldNode[] {
  return selections.flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return [selection]
    const inner = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value)
    return inner === undefined ? [] : rootFields(inner.selectionSet, fragments)
  })
}

/** Unused variables and fragments stay: the planner does not validate. */
function withRoot(document: DocumentNode, operation: OperationDefinitionNode, selections: readonly FieldNode[]): DocumentNode {
  const part = { ...operation, selectionSet: { ...operation.selectionSet, selections } }
  return { ...document, definitions: document.definitions.map((definition) => (definition === operation ? part : definition)) }
}

function ownedBy(graph: string, supergraph: DocumentNode, owners: ReadonlyMap<string, readonly string[]>): DocumentNode {
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
