/**
 * Adds facts to a supergraph that the composer (0.27) omits. Without them plans ask the wrong subgraph, or validation refuses
 * operations that Apollo's composer allows:
 *
 * - An @external field of an interface object counts as a field of its subgraph. A required field is then "fetched" from the very
 *   subgraph that requires it.
 * - A field may have a union or interface type in one subgraph, and one member of it in another. The composer gives it the narrow type,
 *   which does not fit values of the first subgraph. The repair gives it the wide type.
 *
 * Both cases are found in the subgraphs' own schemas. A supergraph without them is returned unchanged.
 */
import { Kind, parse, print, visit } from 'graphql'
import type {
  ConstDirectiveNode,
  DirectiveNode,
  DocumentNode,
  FieldDefinitionNode,
  InterfaceTypeDefinitionNode,
  InterfaceTypeExtensionNode,
  ObjectTypeDefinitionNode,
  ObjectTypeExtensionNode,
  TypeNode,
} from 'graphql'

type Service = { readonly name: string; readonly typeDefs: DocumentNode }
type Definition = ObjectTypeDefinitionNode | ObjectTypeExtensionNode | InterfaceTypeDefinitionNode | InterfaceTypeExtensionNode

/** The declaration of a field in one subgraph. */
type Version = { readonly graph: string; readonly type: TypeNode; readonly external: boolean; readonly ofInterfaceObject: boolean }

export function repairSupergraph(supergraphSdl: string, services: readonly Service[]): string {
  const versions = fieldVersions(services)
  const wide = wideTypes(services)
  const broken = new Set([...versions].filter(([, each]) => isForeign(each) || widestOf(each, wide) !== undefined).map(([place]) => place))
  if (broken.size === 0) return supergraphSdl
  const supergraph = parse(supergraphSdl)
  const values = graphValues(supergraph)
  const repairType = <Node extends ObjectTypeDefinitionNode | InterfaceTypeDefinitionNode>(definition: Node): Node => ({
    ...definition,
    fields: (definition.fields ?? []).map((field) => {
      const place = `${definition.name.value}.${field.name.value}`
      return broken.has(place) ? repairField(field, versions.get(place) ?? [], wide, values) : field
    }),
  })
  return print(visit(supergraph, { ObjectTypeDefinition: repairType, InterfaceTypeDefinition: repairType }))
}

/** `Type.field` → its declarations. */
function fieldVersions(services: readonly Service[]): Map<string, Version[]> {
  const versions = new Map<string, Version[]>()
  for (const { name: graph, typeDefs } of services) {
    for (const definition of typeDefs.definitions.filter(hasFields)) {
      const ofInterfaceObject = has(definition.directives, 'interfaceObject')
      for (const { name, type, directives } of definition.fields ?? []) {
        const place = `${definition.name.value}.${name.value}`
        const version = { graph, type, external: has(directives, 'external'), ofInterfaceObject }
        versions.set(place, [...(versions.get(place) ?? []), version])
      }
    }
  }
  return versions
}

function hasFields(node: { kind: string }): node is Definition {
  return (
    node.kind === Kind.OBJECT_TYPE_DEFINITION ||
    node.kind === Kind.OBJECT_TYPE_EXTENSION ||
    node.kind === Kind.INTERFACE_TYPE_DEFINITION ||
    node.kind === Kind.INTERFACE_TYPE_EXTENSION
  )
}

function has(directives: readonly DirectiveNode[] | undefined, name: string): boolean {
  return (directives ?? []).some((directive) => directive.name.value === name || directive.name.value === `federation__${name}`)
}

/** The names of unions and interfaces → the names of their types, over all subgraphs. */
function wideTypes(services: readonly Service[]): Map<string, Set<string>> {
  const wide = new Map<string, Set<string>>()
  const add = (name: string, type: string) => wide.set(name, (wide.get(name) ?? new Set()).add(type))
  for (const definition of services.flatMap(({ typeDefs }) => typeDefs.definitions)) {
    if (definition.kind === Kind.UNION_TYPE_DEFINITION || definition.kind === Kind.UNION_TYPE_EXTENSION)
      for (const { name } of definition.types ?? []) add(definition.name.value, name.value)
    else if (hasFields(definition)) for (const { name } of definition.interfaces ?? []) add(name.value, definition.name.value)
  }
  return wide
}

function isForeign(versions: readonly Version[]): boolean {
  return versions.some(({ external, ofInterfaceObject }) => external && ofInterfaceObject) && versions.some(({ external }) => !external)
}

/** The type that includes all others. Undefined if all types are equal, or if there is no such type. */
function widestOf(versions: readonly Version[], wide: ReadonlyMap<string, ReadonlySet<string>>): string | undefined {
  const names = new Set(versions.map(({ type }) => nameOf(type)))
  if (names.size < 2) return undefined
  return [...names].find((name) => [...names].every((other) => other === name || wide.get(name)?.has(other) === true))
}

function repairField(
  field: FieldDefinitionNode,
  versions: readonly Version[],
  wide: ReadonlyMap<string, ReadonlySet<string>>,
  values: ReadonlyMap<string, string>,
): FieldDefinitionNode {
  const widest = widestOf(versions, wide)
  const directives = field.directives ?? []
  const written = new Map(directives.flatMap((directive) => (isJoin(directive) ? [[graphOf(directive), directive] as const] : [])))
  const joined = versions.flatMap((version) => {
    const graph = values.get(version.graph) ?? ''
    // If the composer wrote some of the directives, subgraphs without one do not resolve the field: it was overridden.
    const isLeftOut = written.size > 0 && !written.has(graph) && !(version.external && version.ofInterfaceObject)
    return isLeftOut ? [] : [joinField(written.get(graph), version, graph, widest !== undefined)]
  })
  const type = widest === undefined ? field.type : renamed(field.type, widest)
  return { ...field, type, directives: [...directives.filter((directive) => !isJoin(directive)), ...joined] }
}

function isJoin({ name }: ConstDirectiveNode): boolean {
  return name.value === 'join__field'
}

function graphOf(directive: ConstDirectiveNode): string {
  const value = directive.arguments?.find(({ name }) => name.value === 'graph')?.value
  return value?.kind === Kind.ENUM ? value.value : ''
}

/** The composer's directive for this subgraph, with the omitted arguments. */
function joinField(written: ConstDirectiveNode | undefined, version: Version, graph: string, typed: boolean): ConstDirectiveNode {
  const args = new Map((written?.arguments ?? []).map((argument) => [argument.name.value, print(argument.value)]))
  args.set('graph', graph)
  if (typed) args.set('type', JSON.stringify(print(version.type)))
  if (version.external) args.set('external', 'true')
  const text = [...args].map(([name, value]) => `${name}: ${value}`).join(', ')
  const [definition] = parse(`type T @join__field(${text})`).definitions
  const directive = definition?.kind === Kind.OBJECT_TYPE_DEFINITION ? definition.directives?.[0] : undefined
  if (directive === undefined) throw new Error('a directive that was just written cannot be read')
  return directive
}

function nameOf(type: TypeNode): string {
  return type.kind === Kind.NAMED_TYPE ? type.name.value : nameOf(type.type)
}

function renamed<Type extends TypeNode>(type: Type, name: string): Type {
  return visit(type, { NamedType: (node) => ({ ...node, name: { ...node.name, value: name } }) })
}

/** The subgraphs' names → their values in `join__Graph`. */
function graphValues({ definitions }: DocumentNode): Map<string, string> {
  const graphs = definitions.find((definition) => definition.kind === Kind.ENUM_TYPE_DEFINITION && definition.name.value === 'join__Graph')
  const values = graphs?.kind === Kind.ENUM_TYPE_DEFINITION ? (graphs.values ?? []) : []
  return new Map(
    values.flatMap(({ name, directives }) => {
      const given = directives?.[0]?.arguments?.find((argument) => argument.name.value === 'name')?.value
      return given?.kind === Kind.STRING ? [[given.value, name.value] as const] : []
    }),
  )
}
