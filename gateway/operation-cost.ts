/**
 * What an operation costs with given variables, before anything runs: a function per operation, compiled once. What
 * depends on no variable is a number by then, so most operations cost an addition per list whose length a variable says.
 *
 * Every selection counts, on whatever type and behind whatever condition, and what is selected twice counts twice: the
 * worst case, never less. What judge (cost.ts) lets pass is small enough to be walked; a fragment is compiled once and
 * is one function however often it is spread.
 */
import { Kind, OperationTypeNode, getNamedType, isCompositeType, valueFromASTUntyped } from 'graphql'
import type {
  FieldNode,
  GraphQLField,
  GraphQLNamedType,
  GraphQLSchema,
  OperationDefinitionNode,
  SelectionSetNode,
  ValueNode,
} from 'graphql'
import type { Fragments } from './plan-document.ts'
import { argumentCost, isListed, measureOf, weightOf, type CostRules, type Measure } from './cost-rules.ts'

type Variables = Readonly<Record<string, unknown>>
type Dynamic = (variables: Variables) => number
type Cost = number | Dynamic

export type OperationCost = (variables: Variables | undefined) => number

type Compiling = {
  readonly schema: GraphQLSchema
  readonly rules: CostRules
  readonly fragments: Fragments
  readonly known: Map<string, Cost>
}

/** Never throws; an operation that was not validated must not come here. */
export function compileCost(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  fragments: Fragments,
  rules: CostRules,
): OperationCost {
  const root = schema.getRootType(operation.operation)
  const compiling: Compiling = { schema, rules, fragments, known: new Map() }
  const isMutation = operation.operation === OperationTypeNode.MUTATION
  const cost = root == null ? 0 : selectionCost(compiling, root, operation.selectionSet, isMutation, undefined)
  const defaults: Record<string, unknown> = {}
  for (const { variable, defaultValue } of operation.variableDefinitions ?? [])
    if (defaultValue !== undefined) defaults[variable.name.value] = valueFromASTUntyped(defaultValue)
  // At least 1: whoever asks for nothing asks all the same.
  if (typeof cost === 'number') return () => rounded(cost)
  const hasDefaults = Object.keys(defaults).length > 0
  return (variables = {}) => rounded(cost(hasDefaults ? { ...defaults, ...variables } : variables))
}

function rounded(cost: number): number {
  if (Number.isNaN(cost)) return Number.MAX_SAFE_INTEGER
  return Math.min(Math.max(1, Math.ceil(cost)), Number.MAX_SAFE_INTEGER)
}

/** `sized`: fields of this selection that are as long as an argument of the field above says. */
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
  const field = fieldOf(parent, node.name.value)
  if (field === undefined) return 0
  const { rules } = compiling
  const type = getNamedType(field.type)
  const measure = measureOf(rules, parent.name, field)
  const length = measure === undefined ? 1 : lengthOf(measure, field, node)
  const sized = measure !== undefined && measure.sizedFields.length > 0 ? { fields: measure.sizedFields, length } : undefined
  const below = node.selectionSet === undefined ? 0 : selectionCost(compiling, type, node.selectionSet, false, sized)
  // A mutation is one, however many objects it returns.
  const extra = isMutation ? weightOf(rules, parent.name, field, true) - weightOf(rules, parent.name, field, false) : 0
  const each = sum([weightOf(rules, parent.name, field, false), below])
  const items = isListed(field.type) ? product(given ?? length, each) : each
  return sum([extra, items, ...argumentCosts(compiling, parent, field, node)])
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

function argumentCosts({ rules }: Compiling, parent: GraphQLNamedType, field: GraphQLField<unknown, unknown>, node: FieldNode): Cost[] {
  if (rules.weights.size === 0) return []
  return (node.arguments ?? []).flatMap(({ name, value }): Cost[] => {
    const argument = field.args.find((each) => each.name === name.value)
    const cost = argument === undefined ? undefined : argumentCost(rules, `${parent.name}.${field.name}.${argument.name}`, argument.type)
    if (cost === undefined) return []
    const read = reader(value)
    return [typeof read === 'function' ? (variables) => cost(read(variables)) : cost(read.value)]
  })
}

/** The value, or how it is made of variables. */
function reader(value: ValueNode): { readonly value: unknown } | ((variables: Variables) => unknown) {
  if (value.kind === Kind.VARIABLE) {
    const name = value.name.value
    return (variables) => (Object.hasOwn(variables, name) ? variables[name] : undefined)
  }
  if (!hasVariable(value)) return { value: valueFromASTUntyped(value) }
  // graphql-js looks names up as they are: on an object with a prototype it would find "constructor".
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

function product(length: Cost, each: Cost): Cost {
  if (each === 0 || length === 0) return 0
  if (typeof length === 'number') return typeof each === 'number' ? length * each : (variables) => length * each(variables)
  return typeof each === 'number' ? (variables) => length(variables) * each : (variables) => length(variables) * each(variables)
}
