/** The linter's view of the subgraphs' SDLs: the types of each subgraph, with extensions merged in, and their federation directives. */
import { Kind, parse as parseSelection, print, type ConstDirectiveNode, type FieldDefinitionNode, type TypeNode } from 'graphql'
import { parseSdl, type SubgraphSdl } from './subgraph-sdl.ts'

export type FieldView = {
  readonly name: string
  /** As in SDL: [Video!]! */
  readonly type: string
  readonly namedType: string
  readonly isList: boolean
  readonly isNonNull: boolean
  readonly description: string | undefined
  readonly isExternal: boolean
  readonly isShareable: boolean
  readonly isLimited: boolean
  /** The subgraph that owned the field before. */
  readonly override: string | undefined
}

export type TypeView = {
  readonly subgraph: string
  readonly name: string
  readonly kind: 'object' | 'interface' | 'union' | 'other'
  description: string | undefined
  isShareable: boolean
  /** The fields of each key, and whether entities can be resolved by it. */
  readonly keys: { readonly fields: readonly string[]; readonly isResolvable: boolean }[]
  readonly fields: Map<string, FieldView>
}

/** By type name, one view per subgraph that has the type. */
export type GraphView = ReadonlyMap<string, readonly TypeView[]>

const LIMITS = new Set(['first', 'last', 'limit', 'take', 'top', 'count', 'size', 'pageSize', 'perPage'])

export function viewGraph(subgraphs: readonly SubgraphSdl[]): GraphView {
  const views = new Map<string, TypeView[]>()
  for (const { name: subgraph, sdl } of subgraphs) {
    const own = new Map<string, TypeView>()
    for (const definition of parseSdl(subgraph, sdl).definitions) {
      const kind = KINDS[definition.kind]
      if (kind === undefined || !('name' in definition) || definition.name === undefined) continue
      const name = definition.name.value
      const view = own.get(name) ?? emptyView(subgraph, name, kind)
      own.set(name, view)
      const { directives, description } = definition as { directives?: readonly ConstDirectiveNode[]; description?: { value: string } }
      view.description ??= description?.value
      view.isShareable ||= has(directives, 'shareable')
      view.keys.push(...keysOf(directives))
      const isExtended = has(directives, 'external')
      if ('fields' in definition)
        for (const field of definition.fields ?? [])
          // Authors cannot change the fields of federation itself (_entities, _service).
          if (field.kind === Kind.FIELD_DEFINITION && !field.name.value.startsWith('_'))
            view.fields.set(field.name.value, viewField(field, isExtended))
    }
    for (const [name, view] of own) views.set(name, [...(views.get(name) ?? []), view])
  }
  return views
}

function emptyView(subgraph: string, name: string, kind: TypeView['kind']): TypeView {
  return { subgraph, name, kind, description: undefined, isShareable: false, keys: [], fields: new Map() }
}

const KINDS: Readonly<Record<string, TypeView['kind'] | undefined>> = {
  [Kind.OBJECT_TYPE_DEFINITION]: 'object',
  [Kind.OBJECT_TYPE_EXTENSION]: 'object',
  [Kind.INTERFACE_TYPE_DEFINITION]: 'interface',
  [Kind.INTERFACE_TYPE_EXTENSION]: 'interface',
  [Kind.UNION_TYPE_DEFINITION]: 'union',
  [Kind.UNION_TYPE_EXTENSION]: 'union',
  [Kind.INPUT_OBJECT_TYPE_DEFINITION]: 'other',
  [Kind.ENUM_TYPE_DEFINITION]: 'other',
  [Kind.SCALAR_TYPE_DEFINITION]: 'other',
}

function viewField(field: FieldDefinitionNode, isExtended: boolean): FieldView {
  const { name, type, description, directives, arguments: given = [] } = field
  const override = named(directives, 'override')?.arguments?.find((each) => each.name.value === 'from')?.value
  return {
    name: name.value,
    type: print(type),
    namedType: namedTypeOf(type),
    isList: isList(type),
    isNonNull: type.kind === Kind.NON_NULL_TYPE,
    description: description?.value,
    isExternal: isExtended || has(directives, 'external'),
    isShareable: has(directives, 'shareable'),
    isLimited: has(directives, 'listSize') || given.some((each) => LIMITS.has(each.name.value) || isList(each.type)),
    override: override?.kind === Kind.STRING ? override.value : undefined,
  }
}

function namedTypeOf(type: TypeNode): string {
  return type.kind === Kind.NAMED_TYPE ? type.name.value : namedTypeOf(type.type)
}

function isList(type: TypeNode): boolean {
  return type.kind === Kind.NON_NULL_TYPE ? isList(type.type) : type.kind === Kind.LIST_TYPE
}

/** Federation directives may have a prefix. */
function named(directives: readonly ConstDirectiveNode[] | undefined, name: string): ConstDirectiveNode | undefined {
  return directives?.find((directive) => directive.name.value === name || directive.name.value === `federation__${name}`)
}

function has(directives: readonly ConstDirectiveNode[] | undefined, name: string): boolean {
  return named(directives, name) !== undefined
}

function keysOf(directives: readonly ConstDirectiveNode[] | undefined): TypeView['keys'] {
  return (directives ?? []).flatMap((directive) => {
    if (directive.name.value !== 'key' && directive.name.value !== 'federation__key') return []
    const argument = (name: string) => directive.arguments?.find((each) => each.name.value === name)?.value
    const fields = argument('fields')
    const resolvable = argument('resolvable')
    if (fields?.kind !== Kind.STRING) return []
    return [{ fields: keyFields(fields.value), isResolvable: !(resolvable?.kind === Kind.BOOLEAN && !resolvable.value) }]
  })
}

function keyFields(selection: string): string[] {
  const [operation] = parseSelection(`{${selection}}`).definitions
  if (operation?.kind !== Kind.OPERATION_DEFINITION) return []
  return operation.selectionSet.selections.flatMap((each) => (each.kind === Kind.FIELD ? [each.name.value] : []))
}
