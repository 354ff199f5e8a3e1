/**
 * The cost of fields, types and arguments. The supergraph sets it by `@cost(weight)` and `@listSize(…)` (IBM's GraphQL cost specification,
 * as Federation carries it). Defaults:
 *
 * - An object costs 1, a leaf 0, a mutation 10.
 * - The arguments of a field give the length of its list: `first`, `last` or `limit`, or the length of an input list (`ids`).
 *   If the field returns an object with `edges` or `nodes`, that length applies to them.
 * - `@listSize(sizedFields: …)` without `slicingArguments` sizes these fields by the longest list in the arguments, also by a list in an
 *   input object (`input.reports`). The argument of the directive cannot name it: Apollo's composer accepts only arguments of type Int there.
 * - A list without such an argument has `listSizeAssumed` items. A list whose argument is below 1 has as many, because `limit: 0` and
 *   `limit: -1` mean "no limit" in some subgraphs.
 * - Ten items of an input list cost 1 if the answer is not a list of objects (`candidates` of `unseen`). An input object in a list that a
 *   mutation receives costs 1, because each is a write.
 * - A field of an interface costs as much as on the most expensive possible type, and so does an object of an interface.
 */
import {
  Kind,
  getNamedType,
  isAbstractType,
  isCompositeType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isInterfaceType,
  parse,
} from 'graphql'
import type {
  ConstDirectiveNode,
  DocumentNode,
  GraphQLField,
  GraphQLInputType,
  GraphQLNamedType,
  GraphQLOutputType,
  GraphQLSchema,
} from 'graphql'
import { argumentsOf, linksOf } from '../operation/directives.ts'

export type ListSize = {
  readonly assumedSize?: number
  readonly slicingArguments?: readonly string[]
  readonly sizedFields?: readonly string[]
}

export type CostRules = {
  readonly listSizeAssumed: number
  /** `Type`, `Type.field`, `Type.field.argument`, `Input.field` → weight. */
  readonly weights: ReadonlyMap<string, number>
  /** `Type.field` → its @listSize. */
  readonly listSizes: ReadonlyMap<string, ListSize>
  /** The cost of a leaf. Default 0. */
  readonly leafWeight?: number
}

/** Lists of millions of items are refused in any case, so longer ones need no exact figure. */
const SIZE_MAX = 1e9

export function readCostRules(supergraphSdl: string, listSizeAssumed: number): CostRules {
  const supergraph = parse(supergraphSdl, { noLocation: true })
  const names = directiveNames(supergraph)
  const weights = new Map<string, number>()
  const listSizes = new Map<string, ListSize>()
  const note = (place: string, directives: readonly ConstDirectiveNode[] = []): void => {
    for (const directive of directives) {
      const args = argumentsOf(directive)
      if (directive.name.value === names.cost && Number.isFinite(Number(args['weight']))) weights.set(place, Number(args['weight']))
      if (directive.name.value === names.listSize) listSizes.set(place, listSizeOf(args))
    }
  }
  for (const definition of supergraph.definitions) {
    if (!('name' in definition) || definition.name === undefined) continue
    const type = definition.name.value
    if ('directives' in definition && definition.kind !== Kind.OPERATION_DEFINITION)
      note(type, definition.directives as ConstDirectiveNode[])
    if (!('fields' in definition)) continue
    for (const field of definition.fields ?? []) {
      note(`${type}.${field.name.value}`, field.directives)
      if (field.kind === Kind.FIELD_DEFINITION)
        for (const argument of field.arguments ?? []) note(`${type}.${field.name.value}.${argument.name.value}`, argument.directives)
    }
  }
  return { listSizeAssumed, weights, listSizes }
}

/** The types that an object of this type can have: the type itself, and the possible types of an interface or union. */
export function typesOf(schema: GraphQLSchema, type: GraphQLNamedType): readonly string[] {
  return isAbstractType(type) ? [type.name, ...schema.getPossibleTypes(type).map(({ name }) => name)] : [type.name]
}

/** The cost of one object of a field's type, without the cost of its selection. `parents`: the types that may have the field. */
export function weightOf(
  rules: CostRules,
  schema: GraphQLSchema,
  parents: readonly string[],
  field: GraphQLField<unknown, unknown>,
): number {
  const type = getNamedType(field.type)
  const ofType = isCompositeType(type)
    ? Math.max(...withoutOwn(typesOf(schema, type), rules.weights).map((name) => rules.weights.get(name) ?? 1))
    : (rules.weights.get(type.name) ?? rules.leafWeight ?? 0)
  const places = parents.map((parent) => `${parent}.${field.name}`)
  return Math.max(...withoutOwn(places, rules.weights).map((place) => rules.weights.get(place) ?? ofType))
}

/** The first name is that of an interface if there are more. It counts only if it has a weight of its own: composers give it none. */
function withoutOwn(names: readonly string[], weights: CostRules['weights']): readonly string[] {
  return names.length > 1 && !weights.has(names[0] as string) ? names.slice(1) : names
}

/** Computes the length of a field's list from the values of its arguments. */
export type Measure = { of(args: Readonly<Record<string, unknown>>): number; readonly sizedFields: readonly string[] }

const SLICING = new Set(['first', 'last', 'limit'])
const CONNECTED = ['edges', 'nodes']

/** Undefined if the field is no list and contains no sized fields. On several types the longest list counts. */
export function measureOf(rules: CostRules, parents: readonly string[], field: GraphQLField<unknown, unknown>): Measure | undefined {
  const isList = isListed(field.type)
  const declared = parents.flatMap((parent) => rules.listSizes.get(`${parent}.${field.name}`) ?? [])
  const sizedFields = isList ? [] : (sizedFieldsOf(declared) ?? connectedFields(field.type))
  if (!isList && sizedFields.length === 0) return undefined
  const [first = {}, ...others] = declared
  const size = others.reduce<SizeOf>(
    (largest, each) => {
      const other = sizeBy(each, field, rules.listSizeAssumed)
      return (args) => Math.max(largest(args), other(args))
    },
    sizeBy(first, field, rules.listSizeAssumed),
  )
  return { sizedFields, of: (args) => Math.min(size(args), SIZE_MAX) }
}

function sizedFieldsOf(declared: readonly ListSize[]): readonly string[] | undefined {
  const given = declared.flatMap(({ sizedFields }) => sizedFields ?? [])
  return given.length === 0 ? undefined : [...new Set(given)]
}

type SizeOf = (args: Readonly<Record<string, unknown>>) => number

function sizeBy(
  { assumedSize, slicingArguments, sizedFields }: ListSize,
  field: GraphQLField<unknown, unknown>,
  listSizeAssumed: number,
): SizeOf {
  const slicing = field.args
    .filter(({ name, type }) => slicingArguments?.includes(name) ?? (SLICING.has(name) || isListed(type)))
    .map(({ name, type }) => ({ name, isList: isListed(type) }))
  const inner = slicingArguments === undefined && sizedFields !== undefined ? field.args.filter(({ type }) => !isListed(type)) : []
  const innerLists = inner.flatMap(({ name, type }) => listsIn(type).map((list) => ({ name, list })))
  return (args) => {
    let size = -1
    for (const { name, isList } of slicing) if (Object.hasOwn(args, name)) size = Math.max(size, sizeOf(args[name], isList))
    for (const { name, list } of innerLists) size = Math.max(size, sizeOf(fieldOfInput(args[name], list), true))
    return size < 0 ? (assumedSize ?? listSizeAssumed) : size
  }
}

/** The names of the lists in an input object. */
function listsIn(type: GraphQLInputType): string[] {
  const named = getNamedType(type)
  if (!isInputObjectType(named)) return []
  return Object.values(named.getFields()).flatMap((field) => (isListed(field.type) ? [field.name] : []))
}

function fieldOfInput(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
}

function connectedFields(type: GraphQLOutputType): string[] {
  const named = getNamedType(type)
  if (!isObjectType(named) && !isInterfaceType(named)) return []
  const fields = named.getFields()
  return CONNECTED.filter((name) => fields[name] !== undefined && isListed(fields[name].type))
}

export function isListed(type: GraphQLOutputType | GraphQLInputType): boolean {
  return isListType(isNonNullType(type) ? type.ofType : type)
}

/** -1: not given, or below 1. Coercion refuses values that are neither numbers nor lists. A single value for a list is a list of one. */
function sizeOf(value: unknown, isList: boolean): number {
  if (Array.isArray(value)) return value.length
  if (typeof value === 'number' && !isList) return value >= 1 ? value : -1
  return value === undefined || value === null ? -1 : 1
}

/**
 * The cost of an argument's value by the weights of the argument and of its given input fields. Undefined: the argument never costs
 * anything. `places`: the argument on each type that may have it; the most expensive one counts.
 */
export function argumentCost(
  rules: CostRules,
  places: readonly string[],
  type: GraphQLInputType,
): ((value: unknown) => number) | undefined {
  const own = Math.max(...places.map((place) => rules.weights.get(place) ?? 0))
  const inner = inputCost(rules, getNamedType(type), new Set())
  if (own === 0 && inner === undefined) return undefined
  return (value) => (value === undefined ? 0 : own + (inner?.(value) ?? 0))
}

function inputCost(rules: CostRules, type: GraphQLInputType, above: Set<string>): ((value: unknown) => number) | undefined {
  if (!isInputObjectType(type) || above.has(type.name)) return undefined
  const costs = Object.values(type.getFields()).flatMap((field) => {
    const own = rules.weights.get(`${type.name}.${field.name}`) ?? 0
    const inner = inputCost(rules, getNamedType(field.type), new Set([...above, type.name]))
    return own === 0 && inner === undefined ? [] : [{ name: field.name, own, inner }]
  })
  if (costs.length === 0) return undefined
  const costOf = (value: unknown): number => {
    if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + costOf(item), 0)
    if (typeof value !== 'object' || value === null) return 0
    let sum = 0
    for (const { name, own, inner } of costs) {
      const given = fieldOfInput(value, name)
      if (given !== undefined) sum += own + (inner?.(given) ?? 0)
    }
    return sum
  }
  return costOf
}

/** Counts the items of the lists in an argument's value, also within input objects. Undefined: it never has any. */
export function itemCounter(
  type: GraphQLInputType,
  counts: (item: GraphQLInputType) => boolean,
  above: Set<string> = new Set(),
): ItemCounter {
  if (isNonNullType(type)) return itemCounter(type.ofType, counts, above)
  if (isListType(type)) {
    const own = counts(getNamedType(type))
    const inner = itemCounter(type.ofType, counts, above)
    if (!own && inner === undefined) return undefined
    return (value) => {
      const items = Array.isArray(value) ? (value as readonly unknown[]) : []
      return (own ? items.length : 0) + (inner === undefined ? 0 : items.reduce<number>((sum, item) => sum + inner(item), 0))
    }
  }
  if (!isInputObjectType(type) || above.has(type.name)) return undefined
  const within = new Set([...above, type.name])
  const fields = Object.values(type.getFields()).flatMap((field) => {
    const inner = itemCounter(field.type, counts, within)
    return inner === undefined ? [] : [{ name: field.name, inner }]
  })
  return fields.length === 0 ? undefined : (value) => fields.reduce((sum, { name, inner }) => sum + inner(fieldOfInput(value, name)), 0)
}

type ItemCounter = ((value: unknown) => number) | undefined

/** The cost specification is linked as a whole: `@cost`, and `@listSize` if imported, else `@cost__listSize`. */
function directiveNames(supergraph: DocumentNode): { cost: string; listSize: string } {
  const link = linksOf(supergraph).find(({ url }) => url.startsWith('https://specs.apollo.dev/cost/'))
  if (link === undefined) return { cost: 'cost', listSize: 'listSize' }
  const { as: prefix = 'cost', imports } = link
  return { cost: imported(imports, '@cost') ?? prefix, listSize: imported(imports, '@listSize') ?? `${prefix}__listSize` }
}

function imported(imports: unknown, name: string): string | undefined {
  for (const each of Array.isArray(imports) ? (imports as unknown[]) : []) {
    if (each === name) return name.slice(1)
    const { name: from, as } = (each ?? {}) as { name?: unknown; as?: unknown }
    if (from === name) return typeof as === 'string' ? as.slice(1) : name.slice(1)
  }
  return undefined
}

function listSizeOf(args: Readonly<Record<string, unknown>>): ListSize {
  const { assumedSize, slicingArguments: slicing, sizedFields } = args
  return {
    ...(typeof assumedSize === 'number' ? { assumedSize } : {}),
    ...(Array.isArray(slicing) ? { slicingArguments: slicing as string[] } : {}),
    ...(Array.isArray(sizedFields) ? { sizedFields: sizedFields as string[] } : {}),
  }
}
