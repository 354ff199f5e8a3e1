/**
 * The document for the planner differs from the document of the client:
 *
 * - It has no `__schema`, `__type` and `__typename` at the root. The planner does not know the first two, and this process can answer
 *   all three. The first two become a separate document.
 * - Keys of the client must not collide with the fields that the planner adds under their own names: keys of entities, and required
 *   fields. Otherwise the planner confuses them, and answers are wrong without an error: `id: title` becomes the key of the next fetch.
 *   A key therefore gets the prefix `_a_` if it is an alias, or if its field can have arguments.
 * - An alias that equals the name of its field is removed. With `id: id` in a selection and in a fragment within it, the native planner
 *   panics and ends the process. JavaScript cannot catch that.
 * - An empty selection gets a `__typename`. Conditions may leave selections empty, and the planner fails on them. Fragments at the root
 *   are inlined, so that an empty root is found.
 */
import { Kind, visit } from 'graphql'
import type { DocumentNode, FieldNode, FragmentDefinitionNode, OperationDefinitionNode, SelectionNode, SelectionSetNode } from 'graphql'

const ALIAS_PREFIX = '_a_'

export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>

export function fragmentsOf(document: DocumentNode): Fragments {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition)
  }
  return fragments
}

/** The fields of a selection and of its fragments, by response key. Conditions are ignored. */
export function fieldsByKey(sets: readonly SelectionSetNode[], fragments: Fragments, fields = new Map<string, FieldNode[]>()) {
  for (const selection of sets.flatMap(({ selections }) => selections)) {
    if (selection.kind === Kind.FIELD) {
      const known = fields.get(keyOf(selection))
      if (known === undefined) fields.set(keyOf(selection), [selection])
      else known.push(selection)
      continue
    }
    const inner = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value)
    if (inner !== undefined) fieldsByKey([inner.selectionSet], fragments, fields)
  }
  return fields
}

/** The key of a field in the data while a plan runs. Each key of the client has one data key. */
export type DataKeys = (field: FieldNode) => string

export function makeDataKeys(operation: OperationDefinitionNode, fragments: Fragments, fieldsWithArguments: ReadonlySet<string>): DataKeys {
  const prefixed = new Set<string>()
  for (const node of [operation, ...fragments.values()]) {
    visit(node, {
      Field(field) {
        const { value: name } = field.name
        if (keyOf(field) !== name || fieldsWithArguments.has(name) || name.startsWith(ALIAS_PREFIX)) prefixed.add(keyOf(field))
      },
    })
  }
  return (field) => (prefixed.has(keyOf(field)) ? ALIAS_PREFIX : '') + keyOf(field)
}

function keyOf(field: FieldNode): string {
  return (field.alias ?? field.name).value
}

export type SplitOperation = {
  /** For the planner. Undefined if nothing is left to plan. */
  readonly planned: DocumentNode | undefined
  /** For the API schema itself. Undefined if the client asks for no introspection. */
  readonly introspection: DocumentNode | undefined
}

export function splitOperation(operation: OperationDefinitionNode, fragments: Fragments, dataKeys: DataKeys): SplitOperation {
  const planned = filterRoot(operation.selectionSet, fragments, (name) => !name.startsWith('__'))
  const introspection = filterRoot(operation.selectionSet, fragments, (name) => name === '__schema' || name === '__type')
  return {
    planned: planned === undefined ? undefined : withDataKeys(documentOf({ ...operation, selectionSet: planned }, fragments), dataKeys),
    introspection: introspection === undefined ? undefined : documentOf({ ...operation, selectionSet: introspection }, fragments),
  }
}

function filterRoot(set: SelectionSetNode, fragments: Fragments, keep: (name: string) => boolean): SelectionSetNode | undefined {
  const selections = set.selections.flatMap((selection): SelectionNode[] => {
    if (selection.kind === Kind.FIELD) return keep(selection.name.value) ? [selection] : []
    const inner = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value)
    const kept = inner === undefined ? undefined : filterRoot(inner.selectionSet, fragments, keep)
    if (inner === undefined || kept === undefined) return []
    const condition = inner.typeCondition === undefined ? {} : { typeCondition: inner.typeCondition }
    return [{ kind: Kind.INLINE_FRAGMENT, ...condition, directives: selection.directives ?? [], selectionSet: kept }]
  })
  return selections.length === 0 ? undefined : { ...set, selections }
}

/** The operation with only the fragments that it spreads. */
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

const TYPENAME: FieldNode = { kind: Kind.FIELD, name: { kind: Kind.NAME, value: '__typename' } }

function withDataKeys(document: DocumentNode, dataKeys: DataKeys): DocumentNode {
  return visit(document, {
    Field(node) {
      // Without an alias: the projection reads the type of an object from this key.
      if (node.name.value === '__typename') return TYPENAME
      const { alias, ...field } = node
      const key = dataKeys(node)
      if (key !== node.name.value) return { ...field, alias: { kind: Kind.NAME, value: key } }
      return alias === undefined ? undefined : field
    },
    SelectionSet: {
      leave: (node) => (node.selections.length === 0 ? { ...node, selections: [TYPENAME] } : undefined),
    },
  })
}
