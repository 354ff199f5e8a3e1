/**
 * From an object of the data to its representation, what a subgraph needs to know of an entity: the plan's `requires`,
 * compiled once per type that turns up. An object that lacks a required field (the fetch that should have brought it
 * failed, or a condition left it out) has no representation and is not fetched; a null that is there is sent as null.
 */
import type { FieldRequiresNode, RequiresSelection } from '@graphql-hive/router-query-planner'
import { entry, makeFunction, read } from './codegen.ts'
import type { PossibleTypes } from './planner.ts'
import { isRecord } from './run.ts'

export type Representation = Record<string, unknown>
type Variables = Readonly<Record<string, unknown>>
export type Represent = (entity: Record<string, unknown>, variables: Variables) => Representation | undefined

export function compileRequires(requires: readonly RequiresSelection[], possible: PossibleTypes): Represent {
  const byType = new Map<string, Represent>()
  return (entity, variables) => {
    const typename = entity['__typename']
    if (typeof typename !== 'string') return undefined
    let represent = byType.get(typename)
    if (represent === undefined) {
      represent = compileForType(requires, typename, possible)
      byType.set(typename, represent)
    }
    return represent(entity, variables)
  }
}

function compileForType(requires: readonly RequiresSelection[], typename: string, possible: PossibleTypes): Represent {
  const fields = flatFields(requires, typename, possible)
  if (fields === undefined) return (entity, variables) => selectedOf(requires, entity, variables, possible)
  if (fields.length === 0) return () => undefined
  return compileFlat(fields)
}

/** The fields of a type if all are leaves without conditions, which is nearly always so; else undefined. */
function flatFields(requires: readonly RequiresSelection[], typename: string, possible: PossibleTypes): FieldRequiresNode[] | undefined {
  const fields: FieldRequiresNode[] = []
  for (const selection of requires) {
    if (selection.kind === 'Field') {
      if (selection.selections != null && selection.selections.length > 0) return undefined
      fields.push(selection)
    } else {
      if (selection.kind === 'FragmentSpread' || selection.skipIf != null || selection.includeIf != null) return undefined
      if (!possible(selection.typeCondition).has(typename)) continue
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

/** The general case: nested selections, conditions. */
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
