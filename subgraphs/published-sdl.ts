/**
 * The SDL of a subgraph as other gateways and composers read it. It has no comments of the source file, and differs in two parts.
 *
 * - The lookup `subjects` is published by history only. Hive's planners find no plan, or a wrong one, for a root field that several
 *   subgraphs share and that returns an interface. Our gateway plans it (gateway/operation/shared-roots.ts), and thereby saves a fetch.
 * - Authorization directives, if the configuration leaves them out. `@apollo/gateway` refuses a supergraph with them, and some composers do
 *   not know them. The directives only let a gateway refuse early. The resolvers check viewer and scopes themselves.
 */
import { Kind, parse, print, visit } from 'graphql'
import type { DirectiveNode, FieldDefinitionNode, GraphQLSchema, ValueNode } from 'graphql'
import type { SubgraphName } from './names.ts'

const AUTHORIZATION: ReadonlySet<string> = new Set(['authenticated', 'requiresScopes'])

/** `authorizationDirectives`: whether the SDL keeps `@authenticated` and `@requiresScopes`. */
export function publishedSdl(
  { name, sdl }: { readonly name: string; readonly sdl: string },
  { authorizationDirectives }: { readonly authorizationDirectives: boolean },
): string {
  const document = visit(parse(sdl), { FieldDefinition: (field) => (isSharedLookup(field) && name !== LOOKUP_OWNER ? null : undefined) })
  return print(authorizationDirectives ? document : visit(document, { Directive: withoutAuthorization }))
}

const LOOKUP_OWNER: SubgraphName = 'history'

/** Payloads have a field of this name too, which is not shared. */
function isSharedLookup({ name, directives }: FieldDefinitionNode): boolean {
  return name.value === 'subjects' && directives?.some((directive) => directive.name.value === 'shareable') === true
}

/** Replaces the SDL that `_service` of the schema answers with. */
export function publishSdl(schema: GraphQLSchema, sdl: string): void {
  const service = schema.getQueryType()?.getFields()['_service']
  if (service === undefined) throw new Error('the schema has no field _service: build it with buildSubgraphSchema')
  service.resolve = () => ({ sdl })
}

/** Null removes the directive. */
function withoutAuthorization(directive: DirectiveNode): DirectiveNode | null | undefined {
  if (AUTHORIZATION.has(directive.name.value)) return null
  if (directive.name.value !== 'link') return undefined
  const given = directive.arguments ?? []
  return {
    ...directive,
    arguments: given.map((each) => (each.name.value === 'import' ? { ...each, value: importsWithout(each.value) } : each)),
  }
}

function importsWithout(value: ValueNode): ValueNode {
  if (value.kind !== Kind.LIST) return value
  return { ...value, values: value.values.filter((each) => each.kind !== Kind.STRING || !AUTHORIZATION.has(each.value.replace('@', ''))) }
}
