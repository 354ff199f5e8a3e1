/**
 * Reads access rules from the supergraph: `@authenticated` and `@requiresScopes(scopes: [[…]])` on types and fields. The composer
 * carries them over from the subgraphs, and gives an interface the rules of all its types.
 *
 * A condition requires either an authenticated viewer, or all scopes of one of several lists. A field has its own conditions, those of
 * its parent type and those of its return type. A field on an interface also has the conditions of every type that implements it:
 * supergraphs of older composers leave that to the gateway.
 */
import { Kind, parse } from 'graphql'
import type { ConstDirectiveNode, DefinitionNode, DocumentNode } from 'graphql'
import { TidemarkError } from '../../core/errors.ts'
import type { Viewer } from '../../core/viewer.ts'
import { argumentsOf, linksOf } from '../operation/directives.ts'

/** Alternative lists of scopes. The viewer needs all scopes of one list. Undefined: an authenticated viewer is enough. */
export type Condition = { readonly key: string; readonly scopes: readonly (readonly string[])[] | undefined }

export type AccessRules = {
  /** The conditions on the type itself. */
  ofType(type: string): readonly Condition[]
  /** The conditions for selecting a field on a type, without those of the field's return type. */
  ofField(type: string, field: string): readonly Condition[]
}

/** Undefined if the supergraph restricts nothing. Throws CONFIG_INVALID for rules that this gateway cannot enforce. */
export function readAccessRules(supergraphSdl: string): AccessRules | undefined {
  const supergraph = parse(supergraphSdl, { noLocation: true })
  const names = directiveNames(supergraph)
  const types = new Map<string, readonly Condition[]>()
  const fields = new Map<string, readonly Condition[]>()
  const implementers = new Map<string, string[]>()
  for (const definition of supergraph.definitions) {
    if (!isTyped(definition)) continue
    const type = definition.name.value
    note(types, type, directiveConditions(definition.directives ?? [], names, type))
    if (!('fields' in definition) || definition.kind === Kind.INPUT_OBJECT_TYPE_DEFINITION) continue
    for (const field of definition.fields ?? [])
      note(fields, `${type}.${field.name.value}`, directiveConditions(field.directives ?? [], names, `${type}.${field.name.value}`))
    for (const { name } of definition.interfaces ?? []) implementers.set(name.value, [...(implementers.get(name.value) ?? []), type])
  }
  if (types.size === 0 && fields.size === 0) return undefined
  const ofType = (type: string) => types.get(type) ?? []
  return {
    ofType,
    ofField: (type, field) =>
      [type, ...(implementers.get(type) ?? [])].flatMap((each) => [...ofType(each), ...(fields.get(`${each}.${field}`) ?? [])]),
  }
}

export function isGranted({ scopes }: Condition, viewer: Viewer | undefined): boolean {
  if (viewer === undefined) return false
  return scopes === undefined || scopes.some((all) => all.every((scope) => viewer.scopes.includes(scope)))
}

type Names = { readonly authenticated: string; readonly requiresScopes: string; readonly policy: string }

/** `@link(url: "https://specs.apollo.dev/requiresScopes/v0.1", as: "needs")` may give a directive another name. */
function directiveNames(supergraph: DocumentNode): Names {
  const names: Record<keyof Names, string> = { authenticated: 'authenticated', requiresScopes: 'requiresScopes', policy: 'policy' }
  for (const { url, as } of linksOf(supergraph)) {
    const spec = /^https:\/\/specs\.apollo\.dev\/(\w+)\/v/.exec(url)?.[1]
    if (as !== undefined && spec !== undefined && Object.hasOwn(names, spec)) names[spec as keyof Names] = as
  }
  return names
}

function directiveConditions(directives: readonly ConstDirectiveNode[], names: Names, place: string): Condition[] {
  return directives.flatMap((directive): Condition[] => {
    switch (directive.name.value) {
      case names.authenticated:
        return [{ key: '', scopes: undefined }]
      case names.requiresScopes: {
        const { scopes } = argumentsOf(directive)
        if (!isScopes(scopes))
          throw new TidemarkError('CONFIG_INVALID', `@requiresScopes of ${place} has no lists of scopes: compose the supergraph again`)
        return [{ key: JSON.stringify(scopes), scopes }]
      }
      case names.policy:
        // To serve a field that was meant to be guarded is worse than not to start.
        throw new TidemarkError('CONFIG_INVALID', `${place} has @policy, which this gateway does not enforce: use @requiresScopes`)
      default:
        return []
    }
  })
}

function isScopes(value: unknown): value is string[][] {
  return Array.isArray(value) && value.every((all) => Array.isArray(all) && all.every((scope) => typeof scope === 'string'))
}

function isTyped(definition: DefinitionNode) {
  return (
    definition.kind === Kind.OBJECT_TYPE_DEFINITION ||
    definition.kind === Kind.INTERFACE_TYPE_DEFINITION ||
    definition.kind === Kind.UNION_TYPE_DEFINITION ||
    definition.kind === Kind.ENUM_TYPE_DEFINITION ||
    definition.kind === Kind.SCALAR_TYPE_DEFINITION ||
    definition.kind === Kind.INPUT_OBJECT_TYPE_DEFINITION
  )
}

function note(into: Map<string, readonly Condition[]>, place: string, conditions: readonly Condition[]): void {
  if (conditions.length > 0) into.set(place, conditions)
}
