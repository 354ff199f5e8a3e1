/**
 * The cache policy of an operation: how long its answers may be kept, and whether a shared cache may keep them. It is the strictest
 * hint of all selected fields. It is computed once per operation, and includes both sides of `@skip` and `@include`.
 *
 * Hints come from `@cacheControl` in the supergraph. A field without a hint makes the answer uncacheable. A field of an interface has
 * the strictest hint of all possible types.
 */
import { Kind, getNamedType, isCompositeType, isObjectType, parse, valueFromASTUntyped } from 'graphql'
import type { DocumentNode, FieldDefinitionNode, GraphQLCompositeType, GraphQLSchema, SelectionSetNode } from 'graphql'
import type { ReadOperation } from '../operation/operations.ts'

export type CachePolicy = {
  /** Seconds, above 0. */
  readonly maxAge: number
  readonly isPublic: boolean
}

/** By `Type.field`. */
export type CacheHints = ReadonlyMap<string, CachePolicy>

export const CACHE_DIRECTIVE = 'cacheControl'

/** The hints of the supergraph's fields. */
export function readCacheHints(supergraphSdl: string): CacheHints {
  return supergraphSdl.includes(`@${CACHE_DIRECTIVE}`) ? hintsOf(parse(supergraphSdl, { noLocation: true })) : new Map()
}

function hintsOf(document: DocumentNode): CacheHints {
  const hints = new Map<string, CachePolicy>()
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION) continue
    for (const field of definition.fields ?? []) {
      const hint = hintOf(field)
      if (hint !== undefined) hints.set(`${definition.name.value}.${field.name.value}`, hint)
    }
  }
  return hints
}

/** The hint of a directive on this node. It is private unless the scope is PUBLIC. */
export function hintOf({ directives }: Pick<FieldDefinitionNode, 'directives'>): CachePolicy | undefined {
  const directive = directives?.find(({ name }) => name.value === CACHE_DIRECTIVE)
  if (directive === undefined) return undefined
  const args = new Map((directive.arguments ?? []).map(({ name, value }) => [name.value, valueFromASTUntyped(value)]))
  const maxAge = args.get('maxAge')
  const inherited = args.get('inheritMaxAge') === true ? Number.MAX_SAFE_INTEGER : 0
  return { maxAge: typeof maxAge === 'number' ? Math.max(0, Math.trunc(maxAge)) : inherited, isPublic: args.get('scope') === 'PUBLIC' }
}

/** The stricter value of both policies, in each respect. */
export function strictest(a: CachePolicy, b: CachePolicy): CachePolicy {
  return { maxAge: Math.min(a.maxAge, b.maxAge), isPublic: a.isPublic && b.isPublic }
}

const NOTHING: CachePolicy = { maxAge: 0, isPublic: false }
/** RFC 9111 lets caches treat larger values as this one. A year means "for ever" in HTTP. */
const AGE_MAX = 31_536_000

/** Undefined if answers must not be kept. */
export function cachePolicyOf(schema: GraphQLSchema, { operation, fragments }: ReadOperation, hints: CacheHints): CachePolicy | undefined {
  const root = schema.getQueryType()
  if (hints.size === 0 || operation.operation !== 'query' || root == null) return undefined
  let policy: CachePolicy = { maxAge: AGE_MAX, isPublic: true }
  const seen = new Set<string>()
  walk(root, operation.selectionSet)
  return policy.maxAge > 0 ? policy : undefined

  function walk(type: GraphQLCompositeType, { selections }: SelectionSetNode): void {
    for (const selection of selections) {
      if (policy.maxAge === 0) return
      if (selection.kind === Kind.FIELD) {
        const name = selection.name.value
        if (name === '__typename') continue
        policy = strictest(policy, ofField(type, name))
        const field = 'getFields' in type ? type.getFields()[name] : undefined
        const below = field === undefined ? undefined : getNamedType(field.type)
        if (selection.selectionSet !== undefined && isCompositeType(below)) walk(below, selection.selectionSet)
        continue
      }
      const inner = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value)
      const condition = inner?.typeCondition === undefined ? type : schema.getType(inner.typeCondition.name.value)
      if (inner === undefined || !isCompositeType(condition)) continue
      const key = selection.kind === Kind.FRAGMENT_SPREAD ? selection.name.value : undefined
      // A fragment has the same hints wherever it is spread, because its own type is used for the lookup.
      if (key !== undefined && seen.has(key)) continue
      if (key !== undefined) seen.add(key)
      walk(condition, inner.selectionSet)
    }
  }

  function ofField(type: GraphQLCompositeType, name: string): CachePolicy {
    const types = isObjectType(type) ? [type] : schema.getPossibleTypes(type)
    if (types.length === 0) return NOTHING
    return types.reduce((all, each) => strictest(all, hints.get(`${each.name}.${name}`) ?? NOTHING), policy)
  }
}
