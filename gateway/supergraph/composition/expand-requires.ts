/**
 * Expands @requires on interfaces. The composer refuses `@requires(fields: "media { ... on Printed { pages } }")` if Printed is an
 * interface, because it finds no path to such a condition. It finds one to each type that implements the interface. This is equivalent:
 * `media { ... on Book { pages } ... on Comic { pages } }`. Nested conditions are resolved as well.
 */
import { Kind, parse, print, stripIgnoredCharacters, visit } from 'graphql'
import type { DirectiveNode, DocumentNode, InlineFragmentNode, SelectionNode, SelectionSetNode } from 'graphql'

type Implementers = ReadonlyMap<string, ReadonlySet<string>>

/** The same document if no expansion is needed. */
export function expandRequires(typeDefs: DocumentNode): DocumentNode {
  const implementers = implementersOf(typeDefs)
  return visit(typeDefs, {
    Directive(directive) {
      if (directive.name.value !== 'requires' && directive.name.value !== 'federation__requires') return undefined
      return expandDirective(directive, implementers)
    },
  })
}

/** The object types of each interface. */
function implementersOf({ definitions }: DocumentNode): Map<string, Set<string>> {
  const types = new Map<string, Set<string>>()
  for (const definition of definitions) {
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION && definition.kind !== Kind.OBJECT_TYPE_EXTENSION) continue
    for (const { name } of definition.interfaces ?? [])
      types.set(name.value, (types.get(name.value) ?? new Set()).add(definition.name.value))
  }
  return types
}

function expandDirective(directive: DirectiveNode, implementers: Implementers): DirectiveNode | undefined {
  const [fields] = directive.arguments ?? []
  if (fields?.value.kind !== Kind.STRING) return undefined
  const given = fieldSet(fields.value.value)
  if (given === undefined) return undefined
  const expanded = expandSet(given, undefined, implementers)
  // No type meets the conditions.
  if (hasEmptySet(expanded)) return undefined
  // A field set has no outer braces.
  const text = stripIgnoredCharacters(print(expanded)).slice(1, -1)
  return { ...directive, arguments: [{ ...fields, value: { kind: Kind.STRING, value: text } }] }
}

function hasEmptySet({ selections }: SelectionSetNode): boolean {
  return (
    selections.length === 0 ||
    selections.some((each) => 'selectionSet' in each && each.selectionSet !== undefined && hasEmptySet(each.selectionSet))
  )
}

/** Undefined if the text is not a field set. The composer reports the mistake. */
function fieldSet(text: string): SelectionSetNode | undefined {
  try {
    const [definition] = parse(`{ ${text} }`, { noLocation: true }).definitions
    return definition?.kind === Kind.OPERATION_DEFINITION ? definition.selectionSet : undefined
  } catch {
    return undefined
  }
}

/** `within` is the object type to which outer conditions restrict the set. */
function expandSet(set: SelectionSetNode, within: string | undefined, implementers: Implementers): SelectionSetNode {
  return { ...set, selections: set.selections.flatMap((selection) => expandSelection(selection, within, implementers)) }
}

function expandSelection(selection: SelectionNode, within: string | undefined, implementers: Implementers): readonly SelectionNode[] {
  if (selection.kind === Kind.FRAGMENT_SPREAD) return [selection]
  if (selection.kind === Kind.FIELD) {
    if (selection.selectionSet === undefined) return [selection]
    return [{ ...selection, selectionSet: expandSet(selection.selectionSet, undefined, implementers) }]
  }
  const condition = selection.typeCondition?.name.value
  const inner = (type: string | undefined) => expandSet(selection.selectionSet, type, implementers)
  if (condition === undefined) return inner(within).selections
  const types = implementers.get(condition) ?? new Set([condition])
  if (within !== undefined) return types.has(within) ? inner(within).selections : []
  return [...types].flatMap((type): InlineFragmentNode[] => {
    const selectionSet = inner(type)
    const typeCondition = { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: type } } as const
    // Inner conditions may exclude every field of this type.
    return selectionSet.selections.length === 0 ? [] : [{ ...selection, typeCondition, selectionSet }]
  })
}
