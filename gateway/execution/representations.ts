/**
 * Turns an object of the data into its representation, which identifies an entity to a subgraph. The plan's `requires` is compiled once
 * per type. An object that lacks a required field (its fetch failed, or a condition excluded it) has no representation and is not
 * fetched. A null is sent as null.
 */
import type { FieldRequiresNode, RequiresSelection } from '@graphql-hive/router-query-planner'
import { entry, makeFunction, read } from './codegen.ts'
import type { PossibleTypes } from '../operation/planner.ts'
import { isRecord } from './run.ts'

export type Representation = Record<string, unknown>
type Variables = Readonly<Record<string, unknown>>
type Entity = Readonly<Record<string, unknown>>
type Represent = (entity: Entity, variables: Variables) => Representation | undefined

/** Turns objects of one type into representations. */
export type TypeRequires = {
  readonly represent: Represent
  /**
   * Equal for entities with equal representations, and much cheaper than a representation. Undefined: the entity has no representation.
   * NO_KEY: the representations themselves must be compared.
   */
  readonly keyOf: (entity: Entity) => unknown
}

/** Undefined for an object without a type name, or of a type for which the plan requires nothing. */
export type Requires = (entity: Entity) => TypeRequires | undefined

export const NO_KEY = Symbol('no key')

export function compileRequires(requires: readonly RequiresSelection[], possible: PossibleTypes): Requires {
  const byType = new Map<string, TypeRequires>()
  const names = namesOf(requires, possible)
  // Most lists have entities of one type.
  let last: { readonly typename: unknown; readonly requires: TypeRequires } | undefined
  return (entity) => {
    const typename = entity['__typename']
    if (last !== undefined && last.typename === typename) return last.requires
    if (typeof typename !== 'string' || names?.has(typename) === false) return undefined
    let known = byType.get(typename)
    if (known === undefined) {
      known = compileForType(requires, typename, possible)
      if (known !== undefined) byType.set(typename, known)
    }
    if (known !== undefined) last = { typename, requires: known }
    return known
  }
}

/** The types for which something is required. Other names are not kept: a subgraph may invent any number of them. Undefined: any type. */
function namesOf(requires: readonly RequiresSelection[], possible: PossibleTypes): ReadonlySet<string> | undefined {
  const names = new Set<string>()
  for (const selection of requires) {
    if (selection.kind !== 'InlineFragment') return undefined
    for (const name of possible(selection.typeCondition)) names.add(name)
  }
  return names
}

function compileForType(requires: readonly RequiresSelection[], typename: string, possible: PossibleTypes): TypeRequires | undefined {
  const fields = flatFields(requires, typename, possible)
  if (fields === undefined)
    return { represent: (entity, variables) => selectedOf(requires, entity, variables, possible), keyOf: () => NO_KEY }
  if (fields.length === 0) return undefined
  return { represent: compileFlat(fields), keyOf: compileKey(fields) }
}

/**
 * The values that identify an entity within its type. A single value is its own key: a Map distinguishes 1 and "1". Several values are
 * joined. The length of each text precedes it, so that different lists of values give different keys.
 */
function compileKey(fields: readonly FieldRequiresNode[]): (entity: Entity) => unknown {
  const names = [...new Set(fields.map(({ name }) => name))].filter((name) => name !== '__typename')
  if (names.length === 0) return () => ''
  const reads = names.map(
    (name, index) =>
      `const v${index} = ${read('entity', name)}; if (v${index} === undefined) return undefined; if (typeof v${index} === 'object' && v${index} !== null) return NO_KEY;`,
  )
  const parts = names.map((_, index) => `(typeof v${index} === 'string' ? v${index}.length + ':' + v${index} : v${index} + ';')`)
  return makeFunction(['entity'], `${reads.join(' ')} return ${names.length === 1 ? 'v0' : parts.join(' + ')}`, { NO_KEY })
}

/** The fields of a type if all are leaves without conditions, which is nearly always so. Otherwise undefined. */
function flatFields(requires: readonly RequiresSelection[], typename: string, possible: PossibleTypes): FieldRequiresNode[] | undefined {
  const fields: FieldRequiresNode[] = []
  for (const selection of requires) {
    if (selection.kind === 'Field') {
      if (selection.selections != null && selection.selections.length > 0) return undefined
      fields.push(selection)
    } else {
      if (selection.kind === 'FragmentSpread') return undefined
      if (!possible(selection.typeCondition).has(typename)) continue
      if (selection.skipIf != null || selection.includeIf != null) return undefined
      const inner = flatFields(selection.selections, typename, possible)
      if (inner === undefined) return undefined
      fields.push(...inner)
    }
  }
  return fields
}

function compileFlat(fields: readonly FieldRequiresNode[]): Represent {
  const byKey = new Map(fields.map((field) => [field.alias ?? field.name, field.name]))
  const names = [...byKey.values()]
  const reads = names.map((name, index) => `const v${index} = ${read('entity', name)}; if (v${index} === undefined) return undefined;`)
  const literal = [...byKey.keys()].map((key, index) => entry(key, `v${index}`)).join(', ')
  return makeFunction<Represent>(['entity'], `${reads.join(' ')} return { ${literal} }`, {})
}

/** The general case: nested selections and conditions. */
function selectedOf(
  selections: readonly RequiresSelection[],
  entity: Record<string, unknown>,
  variables: Variables,
  possible: PossibleTypes,
): Representation | undefined {
  const selected: Representation = {}
  return select(selections, entity, selected, variables, possible) && Object.keys(selected).length > 0 ? selected : undefined
}

/** False if a required field is missing. */
function select(
  selections: readonly RequiresSelection[],
  entity: Record<string, unknown>,
  selected: Representation,
  variables: Variables,
  possible: PossibleTypes,
): boolean {
  return selections.every((selection) => {
    if (selection.kind === 'FragmentSpread') return true
    if (selection.kind === 'InlineFragment') {
      const excluded =
        (selection.skipIf != null && variables[selection.skipIf] === true) ||
        (selection.includeIf != null && variables[selection.includeIf] !== true)
      const { __typename: typename = selection.typeCondition } = entity
      const applies = !excluded && typeof typename === 'string' && possible(selection.typeCondition).has(typename)
      return !applies || select(selection.selections, entity, selected, variables, possible)
    }
    const value = selectValue(selection, entity[selection.name], variables, possible)
    if (value === undefined) return false
    selected[selection.alias ?? selection.name] = value
    return true
  })
}

function selectValue(field: FieldRequiresNode, value: unknown, variables: Variables, possible: PossibleTypes): unknown {
  const { selections } = field
  if (selections == null || selections.length === 0 || value === null || value === undefined) return value
  if (Array.isArray(value)) {
    const items = value.map((item) => selectValue(field, item, variables, possible))
    return items.includes(undefined) ? undefined : items
  }
  return isRecord(value) ? selectedOf(selections, value, variables, possible) : undefined
}
