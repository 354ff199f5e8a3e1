/**
 * What the planner plans is not quite what the client wrote:
 *
 * - `__schema`, `__type` and `__typename` of the root are left out: the planner does not know the first two, and this
 *   process knows all three. The first two become a document of their own.
 * - Every alias gets the prefix `_a_`. The planner adds the key fields that it needs under their own names; a client's
 *   `id: title` would take the place of the key `id`, and the next fetch would ask for the entity with the title as its
 *   id. With the prefix no alias can be the name of a field, and a client's key is one slice away from the data's key.
 * - Fragments of the root are inlined and constant @skip and @include there decided, so that a root that is left empty is
 *   seen here: the planner fails on it. @defer is dropped: such a fragment comes with the rest.
 */
import { Kind, visit } from 'graphql'
import type {
  DirectiveNode,
  DocumentNode,
  FieldNode,
  FragmentDefinitionNode,
  OperationDefinitionNode,
  SelectionNode,
  SelectionSetNode,
} from 'graphql'

const ALIAS_PREFIX = '_a_'

/** The key under which the data of a field lies while a plan runs. */
export function dataKeyOf(field: FieldNode): string {
  const name = field.name.value
  const alias = field.alias?.value ?? name
  return alias === name && !name.startsWith(ALIAS_PREFIX) ? name : ALIAS_PREFIX + alias
}

export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>

export function fragmentsOf(document: DocumentNode): Fragments {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition)
  }
  return fragments
}

export type SplitOperation = {
  /** For the planner; undefined if nothing is left to plan. */
  readonly planned: DocumentNode | undefined
  /** For the API schema itself; undefined if the client asks for no introspection. */
  readonly introspection: DocumentNode | undefined
}

export function splitOperation(operation: OperationDefinitionNode, fragments: Fragments): SplitOperation {
  const planned = filterRoot(operation.selectionSet, fragments, (name) => !name.startsWith('__'))
  const introspection = filterRoot(operation.selectionSet, fragments, (name) => name === '__schema' || name === '__type')
  return {
    planned: planned === undefined ? undefined : withAliases(documentOf({ ...operation, selectionSet: planned }, fragments)),
    introspection: introspection === undefined ? undefined : documentOf({ ...operation, selectionSet: introspection }, fragments),
  }
}

function filterRoot(set: SelectionSetNode, fragments: Fragments, keep: (name: string) => boolean): SelectionSetNode | undefined {
  const selections = set.selections.flatMap((selection): SelectionNode[] => {
    if (isLeftOut(selection.directives)) return []
    if (selection.kind === Kind.FIELD) return keep(selection.name.value) ? [selection] : []
    const inner = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value)
    const kept = inner === undefined ? undefined : filterRoot(inner.selectionSet, fragments, keep)
    if (inner === undefined || kept === undefined) return []
    const condition = inner.typeCondition === undefined ? {} : { typeCondition: inner.typeCondition }
    return [{ kind: Kind.INLINE_FRAGMENT, ...condition, directives: selection.directives ?? [], selectionSet: kept }]
  })
  return selections.length === 0 ? undefined : { ...set, selections }
}

/** True for a literal `@skip(if: true)` or `@include(if: false)`. */
export function isLeftOut(directives: readonly DirectiveNode[] | undefined): boolean {
  return (directives ?? []).some((directive) => {
    const value = directive.arguments?.[0]?.value
    if (value?.kind !== Kind.BOOLEAN) return false
    return (directive.name.value === 'skip' && value.value) || (directive.name.value === 'include' && !value.value)
  })
}

/** The operation with the fragments that it still spreads. */
function documentOf(operation: OperationDefinitionNode, fragments: Fragments): DocumentNode {
  const spread = new Set<string>()
  const collect = (node: OperationDefinitionNode | FragmentDefinitionNode): void => {
    visit(node, {
      FragmentSpread({ name }) {
        const fragment = fragments.get(name.value)
        if (spread.has(name.value) || fragment === undefined) return
        spread.add(name.value)
        collect(fragment)
      },
    })
  }
  collect(operation)
  return { kind: Kind.DOCUMENT, definitions: [operation, ...[...fragments.values()].filter(({ name }) => spread.has(name.value))] }
}

function withAliases(document: DocumentNode): DocumentNode {
  return visit(document, {
    Field(node) {
      const key = dataKeyOf(node)
      return key === (node.alias?.value ?? node.name.value) ? undefined : { ...node, alias: { kind: Kind.NAME, value: key } }
    },
    Directive(node) {
      return node.name.value === 'defer' ? null : undefined
    },
  })
}
