/**
 * Corrects plans. If selections occur twice in a fetch, the planner moves them into a fragment on the supergraph's type of the field. A
 * subgraph may declare a narrower type for that field, such as one member of a union. It then does not know the fragment's type and
 * refuses the document.
 *
 * The correction inlines such fragments. The subgraph's type of the field is within the fragment's condition, so the condition is not
 * needed.
 */
import type { PlanNode } from '@graphql-hive/router-query-planner'
import { Kind, parse, print, visit } from 'graphql'
import type { DocumentNode, FragmentDefinitionNode, SelectionNode, SelectionSetNode } from 'graphql'

/** The names of a subgraph's types, by the subgraph's name. */
export type SubgraphTypes = ReadonlyMap<string, ReadonlySet<string>>

export function subgraphTypes({ definitions }: DocumentNode): SubgraphTypes {
  const names = new Map<string, string>()
  const types = new Map<string, Set<string>>()
  visit(
    { kind: Kind.DOCUMENT, definitions },
    {
      EnumValueDefinition({ name, directives }) {
        const given = valueOf(directives?.find((directive) => directive.name.value === 'join__graph')?.arguments, 'name')
        if (given !== undefined) names.set(name.value, given)
      },
    },
  )
  for (const definition of definitions) {
    if (!('directives' in definition) || !('name' in definition) || definition.name === undefined) continue
    for (const { name, arguments: args } of definition.directives ?? []) {
      const graph = name.value === 'join__type' ? valueOf(args, 'graph') : undefined
      const subgraph = graph === undefined ? undefined : names.get(graph)
      if (subgraph !== undefined) types.set(subgraph, (types.get(subgraph) ?? new Set()).add(definition.name.value))
    }
  }
  return types
}

function valueOf(args: readonly { name: { value: string }; value: { kind: string; value?: unknown } }[] | undefined, name: string) {
  const value = args?.find((argument) => argument.name.value === name)?.value.value
  return typeof value === 'string' ? value : undefined
}

/** The plan with documents that their subgraphs understand. The same object if no correction is needed. */
export function repairPlan(plan: PlanNode, types: SubgraphTypes): PlanNode {
  return repairValue(plan, types) as PlanNode
}

/** Plan nodes hold other plan nodes under many keys. An object with a subgraph and a document is a fetch. */
function repairValue(value: unknown, types: SubgraphTypes): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map((item) => repairValue(item, types))
    return items.every((item, index) => item === value[index]) ? value : items
  }
  const { serviceName, operation } = value as { serviceName?: unknown; operation?: unknown }
  if (typeof serviceName === 'string' && typeof operation === 'string') {
    const repaired = repairDocument(operation, types.get(serviceName))
    return repaired === operation ? value : { ...value, operation: repaired }
  }
  const entries = Object.entries(value).map(([key, inner]) => [key, inner, repairValue(inner, types)] as const)
  return entries.every(([, inner, repaired]) => inner === repaired)
    ? value
    : Object.fromEntries(entries.map(([key, , repaired]) => [key, repaired]))
}

function repairDocument(text: string, known: ReadonlySet<string> | undefined): string {
  if (known === undefined || !text.includes('fragment ')) return text
  const document = parse(text)
  const foreign = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION && !known.has(definition.typeCondition.name.value))
      foreign.set(definition.name.value, definition)
  }
  if (foreign.size === 0) return text
  const definitions = document.definitions.filter((definition) => !('name' in definition) || !foreign.has(definition.name?.value ?? ''))
  return print(visit({ ...document, definitions }, { SelectionSet: (set) => writtenOut(set, foreign) }))
}

function writtenOut(set: SelectionSetNode, foreign: ReadonlyMap<string, FragmentDefinitionNode>): SelectionSetNode | undefined {
  if (!set.selections.some((selection) => foreignSpread(selection, foreign))) return undefined
  const selections = set.selections.flatMap((selection): readonly SelectionNode[] => {
    const fragment = foreignSpread(selection, foreign)
    return fragment === undefined ? [selection] : (writtenOut(fragment.selectionSet, foreign) ?? fragment.selectionSet).selections
  })
  return { ...set, selections }
}

function foreignSpread(selection: SelectionNode, foreign: ReadonlyMap<string, FragmentDefinitionNode>): FragmentDefinitionNode | undefined {
  return selection.kind === Kind.FRAGMENT_SPREAD ? foreign.get(selection.name.value) : undefined
}
