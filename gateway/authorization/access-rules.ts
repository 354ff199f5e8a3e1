/**
 * Who may see what, as the supergraph says it: `@authenticated` and `@requiresScopes(scopes: [[…]])` on types and fields.
 * The composer carries them from the subgraphs, and gives an interface what any of its types asks for.
 *
 * A condition is one thing to be granted: to be somebody, or to have all scopes of one of several lists. A field asks for
 * its own conditions, those of the type it is selected on and those of the type it returns. Selected on an interface it
 * asks for those of every type behind it as well: supergraphs of older composers leave that to the gateway.
 */
import { Kind, parse } from 'graphql'
import type { ConstDirectiveNode, DefinitionNode, DocumentNode } from 'graphql'
import { TidemarkError } from '../../core/errors.ts'
import type { Viewer } from '../../core/viewer.ts'
import { argumentsOf, linksOf } from '../operation/directives.ts'

/** Alternatives, of which each is a list of scopes that are all needed; undefined: to be somebody is enough. */
export type Condition = { readonly key: string; readonly scopes: readonly (readonly string[])[] | undefined }

export type AccessRules = {
  /** What a type asks for by itself. */
  ofType(type: string): readonly Condition[]
  /** What selecting a field on a type asks for, without what its own type asks for. */
  ofField(type: string, field: string): readonly Condition[]
}

/** Undefined if the supergraph restricts nothing. CONFIG_INVALID if it asks for what this gateway cannot enforce. */
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
          throw new TidemarkError('CONFIG_INVALID', `@requiresScopes of ${place} has no lists of scopes: compose again`)
        return [{ key: JSON.stringify(scopes), scopes }]
      }
      case names.policy:
        // To let pass what somebody meant to be guarded would be worse than not to start.
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
