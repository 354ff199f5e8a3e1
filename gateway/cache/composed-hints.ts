/**
 * Carries `@cacheControl` of the subgraphs into the supergraph, so that a gateway needs only the supergraph. Composers drop directives
 * that they do not know, unless each subgraph links and composes them. Subgraphs often do not, because some gateways read the hints at
 * run time. The directive is therefore removed before composition, and added to fields afterwards.
 *
 * In the supergraph only fields have it. A hint on a type applies to the leaves that the same subgraph defines on it. It does not apply
 * to fields of other subgraphs, which may depend on the viewer, and not to fields that return the type. If several subgraphs give hints
 * for a field, the strictest counts.
 */
import { Kind, isSpecifiedScalarType, parse, print, visit } from 'graphql'
import { GraphQLBoolean, GraphQLFloat, GraphQLID, GraphQLInt, GraphQLString } from 'graphql'
import type { ConstDirectiveNode, DirectiveNode, DocumentNode, FieldDefinitionNode, TypeNode } from 'graphql'
import { CACHE_DIRECTIVE, hintOf, strictest, type CachePolicy } from './cache-policy.ts'

const SCALARS = [GraphQLBoolean, GraphQLFloat, GraphQLID, GraphQLInt, GraphQLString].filter(isSpecifiedScalarType).map(({ name }) => name)
const SCOPE_ENUM = 'CacheControlScope'
/** The scope is a String: an enum would become a type of the API. */
const DEFINITION = `directive @${CACHE_DIRECTIVE}(maxAge: Int, scope: String) on FIELD_DEFINITION`

/** The subgraph's schema without cache hints. */
export function withoutCacheHints(document: DocumentNode): DocumentNode {
  const others = document.definitions.filter((definition) => {
    if (definition.kind === Kind.DIRECTIVE_DEFINITION) return definition.name.value !== CACHE_DIRECTIVE
    return definition.kind !== Kind.ENUM_TYPE_DEFINITION || definition.name.value !== SCOPE_ENUM
  })
  return visit({ ...document, definitions: others }, { Directive: (node) => (isHint(node) || composesHints(node) ? null : undefined) })
}

/** The supergraph with the cache hints of its subgraphs. The same text if there are none. */
export function withCacheHints(supergraphSdl: string, subgraphs: readonly DocumentNode[]): string {
  const hints = new Map<string, CachePolicy>()
  for (const subgraph of subgraphs) {
    for (const [field, hint] of fieldHints(subgraph)) {
      const other = hints.get(field)
      hints.set(field, other === undefined ? hint : strictest(other, hint))
    }
  }
  if (hints.size === 0) return supergraphSdl
  const annotated = visit(parse(supergraphSdl), {
    ObjectTypeDefinition: (type) => ({
      ...type,
      fields: (type.fields ?? []).map((field) => annotate(field, hints.get(`${type.name.value}.${field.name.value}`))),
    }),
  })
  return `${print(annotated)}\n\n${DEFINITION}\n`
}

function annotate(field: FieldDefinitionNode, hint: CachePolicy | undefined): FieldDefinitionNode {
  if (hint === undefined) return field
  const directive: ConstDirectiveNode = {
    kind: Kind.DIRECTIVE,
    name: { kind: Kind.NAME, value: CACHE_DIRECTIVE },
    arguments: [
      {
        kind: Kind.ARGUMENT,
        name: { kind: Kind.NAME, value: 'maxAge' },
        value: { kind: Kind.INT, value: String(Math.min(hint.maxAge, 2 ** 31 - 1)) },
      },
      {
        kind: Kind.ARGUMENT,
        name: { kind: Kind.NAME, value: 'scope' },
        value: { kind: Kind.STRING, value: hint.isPublic ? 'PUBLIC' : 'PRIVATE' },
      },
    ],
  }
  return { ...field, directives: [...(field.directives ?? []), directive] }
}

function fieldHints(subgraph: DocumentNode): Map<string, CachePolicy> {
  const leaves = leafNames(subgraph)
  const hints = new Map<string, CachePolicy>()
  for (const definition of subgraph.definitions) {
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION && definition.kind !== Kind.OBJECT_TYPE_EXTENSION) continue
    const ofType = hintOf(definition)
    for (const field of definition.fields ?? []) {
      const hint = hintOf(field) ?? (leaves.has(namedType(field.type)) ? ofType : undefined)
      const isOwn = field.directives?.every(({ name }) => name.value !== 'external') ?? true
      if (hint !== undefined && isOwn) hints.set(`${definition.name.value}.${field.name.value}`, hint)
    }
  }
  return hints
}

function leafNames({ definitions }: DocumentNode): Set<string> {
  const names = new Set(SCALARS)
  for (const definition of definitions) {
    if (definition.kind === Kind.SCALAR_TYPE_DEFINITION || definition.kind === Kind.ENUM_TYPE_DEFINITION) names.add(definition.name.value)
  }
  return names
}

function namedType(type: TypeNode): string {
  return type.kind === Kind.NAMED_TYPE ? type.name.value : namedType(type.type)
}

function isHint(node: DirectiveNode): boolean {
  return node.name.value === CACHE_DIRECTIVE
}

/** `@composeDirective(name: "@cacheControl")`, and the @link that imports it. */
function composesHints(node: DirectiveNode): boolean {
  const text = (node.arguments ?? []).map(({ value }) => print(value)).join(' ')
  return (
    (node.name.value === 'composeDirective' || (node.name.value === 'link' && !text.includes('specs.apollo.dev/federation'))) &&
    text.includes(`@${CACHE_DIRECTIVE}"`)
  )
}
