/**
 * Finds the guarded fields of an operation and their conditions. A field node has the same conditions wherever its fragment is spread,
 * because the fragment gives its parent type. Access is therefore decided per node, once per set of granted conditions. An operation
 * has as many compiled forms as there are different sets among its callers.
 */
import { Kind, TypeInfo, getNamedType, visit, visitWithTypeInfo } from 'graphql'
import type { FieldNode, GraphQLSchema, SelectionSetNode } from 'graphql'
import type { ErrorCode } from '../../core/errors.ts'
import { VIEWER_NEEDED, type Viewer } from '../../core/viewer.ts'
import type { DecidedOperation } from '../operation/conditions.ts'
import type { Fragments } from '../operation/plan-document.ts'
import type { FetchError } from '../transports/transport.ts'
import { isGranted, type AccessRules, type Condition } from './access-rules.ts'

/** The guard of each guarded field. */
export type Guards = ReadonlyMap<FieldNode, Guard>

/** `coordinate` is the field's name in the schema: `Video.title`. */
export type Guard = { readonly coordinate: string; readonly conditions: readonly Condition[] }

/** The fields that the viewer may not see, each with its error. */
export type DeniedFields = ReadonlyMap<FieldNode, FetchError>

/** `__typename` is never guarded: a caller that gets an object may know its type. */
export function findGuards(schema: GraphQLSchema, { operation, fragments }: DecidedOperation, rules: AccessRules): Guards {
  const guards = new Map<FieldNode, Guard>()
  for (const node of [operation, ...fragments.values()]) {
    const info = new TypeInfo(schema)
    visit(
      node,
      visitWithTypeInfo(info, {
        Field(field) {
          const parent = info.getParentType()
          const type = getNamedType(info.getType())
          if (parent == null || field.name.value.startsWith('__')) return
          const asked = [...rules.ofField(parent.name, field.name.value), ...(type == null ? [] : rules.ofType(type.name))]
          if (asked.length > 0) guards.set(field, { coordinate: `${parent.name}.${field.name.value}`, conditions: asked })
        },
      }),
    )
  }
  return guards
}

/** All conditions of an operation, each once. The granted ones select the form for a caller. */
export function conditionsOf(guards: Guards): readonly Condition[] {
  return [...new Map([...guards.values()].flatMap(({ conditions }) => conditions).map((condition) => [condition.key, condition])).values()]
}

export function deniedTo(viewer: Viewer | undefined, guards: Guards): DeniedFields {
  const denied = new Map<FieldNode, FetchError>()
  for (const [field, { conditions }] of guards) {
    const missing = conditions.filter((condition) => !isGranted(condition, viewer))
    if (missing.length > 0) denied.set(field, errorFor(field, missing, viewer))
  }
  return denied
}

/** The same by coordinate, so that the denials of two graphs can be compared. */
export function denialsOf(viewer: Viewer | undefined, guards: Guards): ReadonlyMap<string, FetchError> {
  return new Map([...deniedTo(viewer, guards)].map(([field, error]) => [guards.get(field)?.coordinate ?? field.name.value, error]))
}

/** A caller without a viewer must sign in. A viewer gets the names of the missing scopes. */
function errorFor(field: FieldNode, missing: readonly Condition[], viewer: Viewer | undefined): FetchError {
  if (viewer === undefined) return { message: VIEWER_NEEDED, extensions: { code: 'UNAUTHENTICATED' satisfies ErrorCode } }
  const alternatives = missing.map(({ scopes = [] }) => scopes.map((all) => all.join(' and ')).join(', or '))
  return {
    message: `${field.name.value} needs a token with the scope ${[...new Set(alternatives)].join(', and ')}`,
    extensions: { code: 'UNAUTHORIZED_FIELD_OR_TYPE' satisfies ErrorCode },
  }
}

/** The operation without the denied fields. A selection set may become empty, as with conditions. */
export function withoutDenied({ operation, fragments }: DecidedOperation, denied: DeniedFields): DecidedOperation {
  const strip = { Field: (field: FieldNode) => (denied.has(field) ? null : undefined) }
  return {
    operation: visit(operation, strip),
    fragments: new Map([...fragments].map(([name, fragment]) => [name, visit(fragment, strip)])),
  }
}

/** The first error of a root field. A subscription has one root field. */
export function deniedRoot(set: SelectionSetNode, fragments: Fragments, denied: DeniedFields): FetchError | undefined {
  for (const selection of set.selections) {
    if (selection.kind === Kind.FIELD) {
      const error = denied.get(selection)
      if (error !== undefined) return error
      continue
    }
    const inner = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value)
    const error = inner === undefined ? undefined : deniedRoot(inner.selectionSet, fragments, denied)
    if (error !== undefined) return error
  }
  return undefined
}
