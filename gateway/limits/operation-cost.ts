/**
 * The cost of an operation with given variables, computed before it runs. Each operation has one function, compiled once. Parts that depend
 * on no variable are computed at compile time. A typical request then takes one addition per list with a length from a variable.
 *
 * Every selection counts, on any type and behind any condition, and a repeated selection counts twice: the result is the worst case.
 * Operations that pass the judge (judge.ts) are small enough to walk. A fragment is compiled once, even if it is spread many times.
 *
 * Leaves are free up to `VALUES_PER_POINT` per object: an answer of few objects with a hundred aliases each is as much work as many
 * objects. Values are therefore counted as well, and the larger of the two figures is the cost.
 *
 * Introspection is no part of this walk: see introspection-cost.ts.
 *
 * Each representation from a gateway names its type. It costs the selection on that type, in every `_entities` field that receives it.
 */
import {
  Kind,
  OperationTypeNode,
  getNamedType,
  isAbstractType,
  isCompositeType,
  isInputObjectType,
  isObjectType,
  isUnionType,
  valueFromASTUntyped,
} from 'graphql'
import type {
  FieldNode,
  GraphQLField,
  GraphQLInputType,
  GraphQLNamedType,
  GraphQLSchema,
  OperationDefinitionNode,
  SelectionSetNode,
  ValueNode,
} from 'graphql'
import type { Fragments } from '../operation/plan-document.ts'
import { compileIntrospectionCost } from './introspection-cost.ts'
import { argumentCost, isListed, itemCounter, measureOf, typesOf, weightOf, type CostRules, type Measure } from './cost-rules.ts'

type Variables = Readonly<Record<string, unknown>>
type Dynamic = (variables: Variables) => number
type Cost = number | Dynamic

export type OperationCost = (variables: Variables | undefined) => number

/** Items of an input list per point. A bulk call with 10,000 candidates costs 1,000 points and takes milliseconds. */
const ITEMS_PER_POINT = 10

type Compiling = {
  readonly schema: GraphQLSchema
  readonly rules: CostRules
  readonly fragments: Fragments
  readonly known: Map<string, Cost>
}

/** Values, including objects, that an operation may select per point of its cost. */
const VALUES_PER_POINT = 10

/** Never throws. The operation must be valid. */
export function compileCost(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  fragments: Fragments,
  rules: CostRules,
): OperationCost {
  const root = schema.getRootType(operation.operation)
  const isMutation = operation.operation === OperationTypeNode.MUTATION
  const compile = (by: CostRules): Cost =>
    root == null
      ? 0
      : selectionCost({ schema, rules: by, fragments, known: new Map() }, root, operation.selectionSet, isMutation, undefined)
  const objects = compile(rules)
  // Most operations select few fields per object. The values cannot be the larger figure then, and are not counted per request.
  const isWide = root != null && mostValues({ schema, rules, fragments }, root, operation.selectionSet) >= VALUES_PER_POINT
  const ofData = isWide ? larger(objects, product(compile({ ...rules, weights: new Map(), leafWeight: 1 }), 1 / VALUES_PER_POINT)) : objects
  const cost = sum([ofData, compileIntrospectionCost(schema, operation, fragments)])
  const defaults: Record<string, unknown> = {}
  for (const { variable, defaultValue } of operation.variableDefinitions ?? [])
    if (defaultValue !== undefined) defaults[variable.name.value] = valueFromASTUntyped(defaultValue)
  if (typeof cost === 'number') return () => rounded(cost)
  const hasDefaults = Object.keys(defaults).length > 0
  return (variables = {}) => rounded(cost(hasDefaults ? { ...defaults, ...variables } : variables))
}

/** The largest number of values that the operation selects of one object. Objects that cost less than a point count with the object above. */
function mostValues({ schema, rules, fragments }: Omit<Compiling, 'known'>, root: GraphQLNamedType, set: SelectionSetNode): number {
  let most = 0
  const known = new Map<string, number>()
  const valuesOf = (parent: GraphQLNamedType, selectionSet: SelectionSetNode): number => {
    let values = 0
    for (const selection of selectionSet.selections) {
      if (selection.kind === Kind.FIELD) values += valuesOfField(parent, selection)
      else if (selection.kind === Kind.FRAGMENT_SPREAD) values += valuesOfFragment(selection.name.value)
      else values += valuesOf(typeNamed(selection.typeCondition?.name.value) ?? parent, selection.selectionSet)
    }
    return values
  }
  const valuesOfField = (parent: GraphQLNamedType, { name, selectionSet }: FieldNode): number => {
    const field = fieldOf(parent, name.value)
    if (selectionSet === undefined || field === undefined) return 1
    const below = valuesOf(getNamedType(field.type), selectionSet)
    most = Math.max(most, below)
    return weightOf(rules, schema, typesOf(schema, parent), field) < 1 ? 1 + below : 0
  }
  const valuesOfFragment = (name: string): number => {
    const fragment = fragments.get(name)
    const type = typeNamed(fragment?.typeCondition.name.value)
    const values = known.get(name) ?? (fragment === undefined || type === undefined ? 0 : valuesOf(type, fragment.selectionSet))
    known.set(name, values)
    return values
  }
  const typeNamed = (name: string | undefined) => (name === undefined ? undefined : schema.getType(name))
  return Math.max(valuesOf(root, set), most)
}

/** At least 1, because an operation without objects costs time as well. */
function rounded(cost: number): number {
  if (Number.isNaN(cost)) return Number.MAX_SAFE_INTEGER
  return Math.min(Math.max(1, Math.ceil(cost)), Number.MAX_SAFE_INTEGER)
}

/** `sized`: the fields of this selection that have their length from an argument of the field above. */
function selectionCost(
  compiling: Compiling,
  parent: GraphQLNamedType,
  set: SelectionSetNode,
  isMutation: boolean,
  sized: { readonly fields: readonly string[]; readonly length: Cost } | undefined,
): Cost {
  const costs: Cost[] = []
  for (const selection of set.selections) {
    if (selection.kind === Kind.FIELD) {
      const length = sized?.fields.includes(selection.name.value) === true ? sized.length : undefined
      costs.push(fieldCost(compiling, parent, selection, isMutation, length))
      continue
    }
    const inner = selection.kind === Kind.INLINE_FRAGMENT ? selection : compiling.fragments.get(selection.name.value)
    if (inner === undefined) continue
    const type = inner.typeCondition === undefined ? parent : (compiling.schema.getType(inner.typeCondition.name.value) ?? parent)
    if (!mayBe(compiling.schema, parent, type)) continue
    const of = () => selectionCost(compiling, type, inner.selectionSet, isMutation, sized)
    // A fragment below a sized field depends on where it is spread.
    costs.push(selection.kind === Kind.FRAGMENT_SPREAD && sized === undefined ? once(compiling, selection.name.value, of) : of())
  }
  return sum(costs)
}

function once({ known }: Compiling, name: string, of: () => Cost): Cost {
  const remembered = known.get(name)
  if (remembered !== undefined) return remembered
  known.set(name, Infinity)
  const cost = of()
  known.set(name, cost)
  return cost
}

function fieldCost(compiling: Compiling, parent: GraphQLNamedType, node: FieldNode, isMutation: boolean, given: Cost | undefined): Cost {
  const { schema, rules } = compiling
  const field = fieldOf(parent, node.name.value)
  if (field === undefined) return rules.leafWeight ?? 0
  if (field.name === '_entities') return entitiesCost(compiling, field, node)
  const parents = typesOf(schema, parent)
  const measure = measureOf(rules, parents, field)
  const length = measure === undefined ? 1 : lengthOf(measure, field, node)
  const sized = measure !== undefined && measure.sizedFields.length > 0 ? { fields: measure.sizedFields, length } : undefined
  const below = node.selectionSet === undefined ? 0 : selectionCost(compiling, getNamedType(field.type), node.selectionSet, false, sized)
  const own = weightOf(rules, schema, parents, field)
  const each = sum([own, below])
  const items = isListed(field.type) ? product(given ?? length, each) : each
  const handed = handedIn(field, node)
  // The items of an input list count once: in the answer if it has an object for each of them, else as items to look up.
  const isCounted = measure !== undefined && each !== 0 && (isListed(field.type) || selectsList(compiling, node, measure.sizedFields))
  const answer = isCounted ? larger(items, sum([isListed(field.type) ? 0 : own, handed])) : sum([items, handed])
  const cost = sum([answer, ...argumentCosts(compiling, parents, field, node)])
  // A subscription keeps each item that it follows until it ends, even if it selects little of the events.
  if (parent === schema.getSubscriptionType()) return larger(cost, handedIn(field, node, 1))
  // A mutation counts once, even if it returns many objects. Each input object is a write, even if the answer is not selected.
  return isMutation
    ? sum([isWeighed(rules, parent, field) ? 0 : MUTATION, larger(cost, handedIn(field, node, 1, isInputObjectType))])
    : cost
}

/** The cost of a mutation, unless its field has a weight of its own. */
const MUTATION = 10

function isWeighed({ weights }: CostRules, parent: GraphQLNamedType, field: GraphQLField<unknown, unknown>): boolean {
  return weights.has(`${parent.name}.${field.name}`)
}

/** Whether a field selects one of these lists of objects. */
function selectsList({ fragments }: Compiling, { selectionSet }: FieldNode, names: readonly string[]): boolean {
  const spread = new Set<string>()
  const selects = (set: SelectionSetNode | undefined): boolean =>
    set?.selections.some((selection) => {
      if (selection.kind === Kind.FIELD) return selection.selectionSet !== undefined && names.includes(selection.name.value)
      if (selection.kind === Kind.INLINE_FRAGMENT) return selects(selection.selectionSet)
      if (spread.has(selection.name.value)) return false
      spread.add(selection.name.value)
      return selects(fragments.get(selection.name.value)?.selectionSet)
    }) ?? false
  return selects(selectionSet)
}

/** A representation costs the selection on its type. On an interface or an unknown type it costs as much as the most expensive type. */
function entitiesCost(compiling: Compiling, field: GraphQLField<unknown, unknown>, node: FieldNode): Cost {
  const { schema } = compiling
  const union = getNamedType(field.type)
  const argument = node.arguments?.find(({ name }) => name.value === 'representations')
  if (!isUnionType(union) || argument === undefined || node.selectionSet === undefined) return 1
  const set = node.selectionSet
  const costs = new Map<unknown, Cost>(
    schema.getPossibleTypes(union).map((type) => [type.name, sum([1, selectionCost(compiling, type, set, false, undefined)])]),
  )
  const dearest = [...costs.values()].reduce(larger, 1)
  const read = reader(argument.value)
  return (variables) => {
    const representations = typeof read === 'function' ? read(variables) : read.value
    if (!Array.isArray(representations)) return 1
    let total = 0
    for (const [type, count] of countsByType(representations)) total += count * valueOf(costs.get(type) ?? dearest, variables)
    return total
  }
}

/** One list may go to a hundred fields. It is counted once. */
const counted = new WeakMap<readonly unknown[], ReadonlyMap<unknown, number>>()

function countsByType(representations: readonly unknown[]): ReadonlyMap<unknown, number> {
  const known = counted.get(representations)
  if (known !== undefined) return known
  const counts = new Map<unknown, number>()
  for (const each of representations) {
    const type = (each as { __typename?: unknown } | null | undefined)?.__typename
    counts.set(type, (counts.get(type) ?? 0) + 1)
  }
  counted.set(representations, counts)
  return counts
}

/** Decides whether an object of this type, or of one of its possible types, can also be of the other type. */
function mayBe(schema: GraphQLSchema, type: GraphQLNamedType, other: GraphQLNamedType): boolean {
  if (!isObjectType(type) || type === other) return true
  return isAbstractType(other) && schema.isSubType(other, type)
}

function lengthOf(measure: Measure, field: GraphQLField<unknown, unknown>, node: FieldNode): Cost {
  const defaults: Record<string, unknown> = {}
  for (const { name, defaultValue } of field.args) if (defaultValue !== undefined) defaults[name] = defaultValue
  const given = (node.arguments ?? []).map(({ name, value }) => ({ name: name.value, read: reader(value) }))
  const fixed: Record<string, unknown> = { ...defaults }
  for (const { name, read } of given) if (typeof read !== 'function') fixed[name] = read.value
  const open = given.flatMap(({ name, read }) => (typeof read === 'function' ? [{ name, read }] : []))
  if (open.length === 0) return measure.of(fixed)
  return (variables) => {
    const args = { ...fixed }
    for (const { name, read } of open) {
      const value = read(variables)
      // A variable that is not given leaves the default of the argument.
      if (value !== undefined) args[name] = value
    }
    return measure.of(args)
  }
}

function argumentCosts({ rules }: Compiling, parents: readonly string[], field: GraphQLField<unknown, unknown>, node: FieldNode): Cost[] {
  if (rules.weights.size === 0) return []
  return ofArguments(field, node, (name, type) =>
    argumentCost(
      rules,
      parents.map((parent) => `${parent}.${field.name}.${name}`),
      type,
    ),
  )
}

/** The cost of input lists: each item is looked up, even if the answer is one object or only numbers. */
function handedIn(
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
  itemsPerPoint = ITEMS_PER_POINT,
  counts: (item: GraphQLInputType) => boolean = () => true,
): Cost {
  const costs = ofArguments(field, node, (_name, type) => {
    const count = itemCounter(type, counts)
    return count && ((value) => Math.floor(count(value) / itemsPerPoint))
  })
  return sum(costs)
}

function ofArguments(
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
  costOf: (name: string, type: GraphQLInputType) => ((value: unknown) => number) | undefined,
): Cost[] {
  return (node.arguments ?? []).flatMap(({ name, value }): Cost[] => {
    const argument = field.args.find((each) => each.name === name.value)
    const cost = argument === undefined ? undefined : costOf(argument.name, argument.type)
    if (cost === undefined) return []
    const read = reader(value)
    return [typeof read === 'function' ? (variables) => cost(read(variables)) : cost(read.value)]
  })
}

/** The value, or a function that computes it from variables. */
export function reader(value: ValueNode): { readonly value: unknown } | ((variables: Variables) => unknown) {
  if (value.kind === Kind.VARIABLE) {
    const name = value.name.value
    return (variables) => (Object.hasOwn(variables, name) ? variables[name] : undefined)
  }
  if (!hasVariable(value)) return { value: valueFromASTUntyped(value) }
  // graphql-js reads names without a check: on an object with a prototype it would find "constructor".
  return (variables) => valueFromASTUntyped(value, Object.assign(Object.create(null), variables))
}

function hasVariable(value: ValueNode): boolean {
  if (value.kind === Kind.VARIABLE) return true
  if (value.kind === Kind.LIST) return value.values.some(hasVariable)
  return value.kind === Kind.OBJECT && value.fields.some((field) => hasVariable(field.value))
}

function fieldOf(parent: GraphQLNamedType, name: string): GraphQLField<unknown, unknown> | undefined {
  if (name.startsWith('__')) return undefined
  return isCompositeType(parent) && 'getFields' in parent ? parent.getFields()[name] : undefined
}

function sum(costs: readonly Cost[]): Cost {
  let fixed = 0
  const open: Dynamic[] = []
  for (const cost of costs) {
    if (typeof cost === 'number') fixed += cost
    else open.push(cost)
  }
  const [first, second] = open
  if (first === undefined) return fixed
  if (second === undefined) return fixed === 0 ? first : (variables) => fixed + first(variables)
  return (variables) => {
    let total = fixed
    for (const cost of open) total += cost(variables)
    return total
  }
}

function larger(one: Cost, other: Cost): Cost {
  if (typeof one === 'number' && typeof other === 'number') return Math.max(one, other)
  return (variables) => Math.max(valueOf(one, variables), valueOf(other, variables))
}

function valueOf(cost: Cost, variables: Variables): number {
  return typeof cost === 'number' ? cost : cost(variables)
}

function product(length: Cost, each: Cost): Cost {
  if (each === 0 || length === 0) return 0
  if (typeof length === 'number') return typeof each === 'number' ? length * each : (variables) => length * each(variables)
  return typeof each === 'number' ? (variables) => length(variables) * each : (variables) => length(variables) * each(variables)
}
