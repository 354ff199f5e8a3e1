/**
 * Finds types with different kinds in different subgraphs. The composer reports most of them and throws on some, for example on an
 * interface of one subgraph that has `@interfaceObject` in a second and is an object type in a third. The sentences of this file name
 * the type and its subgraphs.
 */
import { Kind, type DocumentNode } from 'graphql'

export type NamedDocument = { readonly name: string; readonly typeDefs: DocumentNode }

const KINDS: Readonly<Record<string, string | undefined>> = {
  [Kind.OBJECT_TYPE_DEFINITION]: 'an object type',
  [Kind.OBJECT_TYPE_EXTENSION]: 'an object type',
  [Kind.INTERFACE_TYPE_DEFINITION]: 'an interface',
  [Kind.INTERFACE_TYPE_EXTENSION]: 'an interface',
  [Kind.UNION_TYPE_DEFINITION]: 'a union',
  [Kind.UNION_TYPE_EXTENSION]: 'a union',
  [Kind.INPUT_OBJECT_TYPE_DEFINITION]: 'an input type',
  [Kind.INPUT_OBJECT_TYPE_EXTENSION]: 'an input type',
  [Kind.ENUM_TYPE_DEFINITION]: 'an enum',
  [Kind.ENUM_TYPE_EXTENSION]: 'an enum',
  [Kind.SCALAR_TYPE_DEFINITION]: 'a scalar',
  [Kind.SCALAR_TYPE_EXTENSION]: 'a scalar',
}
const INTERFACE_OBJECT = 'an object type with @interfaceObject'

/** One sentence per type. */
export function kindConflicts(subgraphs: readonly NamedDocument[]): string[] {
  return [...kindsOfTypes(subgraphs)].flatMap(([type, kinds]) => {
    if (agree([...kinds.keys()])) return []
    const objects = kinds.size === 1 ? kinds.get(INTERFACE_OBJECT) : undefined
    if (objects !== undefined)
      return [
        `the type ${type} has @interfaceObject in ${quoted(objects)}, and no subgraph has the interface: add it, or remove @interfaceObject`,
      ]
    const places = [...kinds].map(([kind, names]) => `${kind} in ${quoted(names)}`)
    return [`the type ${type} is ${places.join(' and ')}: use one kind everywhere, or rename it in one of them`]
  })
}

function quoted(names: ReadonlySet<string>): string {
  return [...names].map((name) => `"${name}"`).join(', ')
}

/** By type, then by kind: the names of the subgraphs. */
function kindsOfTypes(subgraphs: readonly NamedDocument[]): Map<string, Map<string, Set<string>>> {
  const types = new Map<string, Map<string, Set<string>>>()
  for (const { name, typeDefs } of subgraphs)
    for (const definition of typeDefs.definitions) {
      const plain = KINDS[definition.kind]
      if (plain === undefined || !('name' in definition) || definition.name === undefined) continue
      const directives = 'directives' in definition ? (definition.directives ?? []) : []
      const kind = directives.some((each) => /(?:^|__)interfaceObject$/.test(each.name.value)) ? INTERFACE_OBJECT : plain
      const kinds = types.get(definition.name.value) ?? new Map<string, Set<string>>()
      types.set(definition.name.value, kinds.set(kind, (kinds.get(kind) ?? new Set()).add(name)))
    }
  return types
}

function agree(kinds: readonly string[]): boolean {
  if (kinds.length < 2) return !kinds.includes(INTERFACE_OBJECT)
  return kinds.length === 2 && kinds.includes('an interface') && kinds.includes(INTERFACE_OBJECT)
}
