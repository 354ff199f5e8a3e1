/**
 * `@requires(fields: "media { ... on Printed { pages } }")`, where Printed is an interface: the composer cannot find a way
 * to such a condition, and refuses. It finds one to each of the types that implement the interface, which says the same:
 * `media { ... on Book { pages } ... on Comic { pages } }`. Conditions within conditions are decided on the way.
 */
import { Kind, parse, print, stripIgnoredCharacters, visit } from 'graphql'
import type { DirectiveNode, DocumentNode, InlineFragmentNode, SelectionNode, SelectionSetNode } from 'graphql'

type Implementers = ReadonlyMap<string, ReadonlySet<string>>

/** The same document if there is nothing to expand. */
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
  // Conditions that no type meets.
  if (hasEmptySet(expanded)) return undefined
  // Without the braces of the set: it is a field set.
  const text = stripIgnoredCharacters(print(expanded)).slice(1, -1)
  return { ...directive, arguments: [{ ...fields, value: { kind: Kind.STRING, value: text } }] }
}

function hasEmptySet({ selections }: SelectionSetNode): boolean {
  return (
    selections.length === 0 ||
    selections.some((each) => 'selectionSet' in each && each.selectionSet !== undefined && hasEmptySet(each.selectionSet))
  )
}

/** Undefined if it is none: what is wrong with it the composer says. */
function fieldSet(text: string): SelectionSetNode | undefined {
  try {
    const [definition] = parse(`{ ${text} }`, { noLocation: true }).definitions
    return definition?.kind === Kind.OPERATION_DEFINITION ? definition.selectionSet : undefined
  } catch {
    return undefined
  }
}

/** `within`: the object type that conditions around the set have left. */
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
    // Conditions within may have left nothing for this type.
    return selectionSet.selections.length === 0 ? [] : [{ ...selection, typeCondition, selectionSet }]
  })
}
