/**
 * The SDL of a subgraph as other gateways and composers read it: without the comments of its source, and without authorization directives
 * if the configuration leaves them out. `@apollo/gateway` refuses a supergraph with them, and some composers do not know them. The directives
 * only let a gateway refuse early. The resolvers check viewer and scopes themselves.
 */
import { Kind, parse, print, visit, type DirectiveNode, type GraphQLSchema, type ValueNode } from 'graphql'

const AUTHORIZATION: ReadonlySet<string> = new Set(['authenticated', 'requiresScopes'])

/** `authorizationDirectives`: whether the SDL keeps `@authenticated` and `@requiresScopes`. */
export function publishedSdl(sdl: string, { authorizationDirectives }: { readonly authorizationDirectives: boolean }): string {
  const document = parse(sdl)
  return print(authorizationDirectives ? document : visit(document, { Directive: withoutAuthorization }))
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
