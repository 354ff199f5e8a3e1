/**
 * The cost of fields, types and arguments. The supergraph sets it by `@cost(weight)` and `@listSize(…)` (IBM's GraphQL cost specification,
 * as Federation carries it). Defaults:
 *
 * - An object costs 1, a leaf 0, a mutation 10.
 * - The arguments of a field give the length of its list: `first`, `last` or `limit`, or the length of an input list (`ids`, `inputs`).
 *   If the field returns an object with `edges` or `nodes`, that length applies to them.
 * - A list without such an argument has `listSizeAssumed` items.
 * - Ten items of an input list cost 1 if the answer is not a list of objects (`candidates` of `unseen`).
 */
import {
  Kind,
  getNamedType,
  isCompositeType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isInterfaceType,
  parse,
} from 'graphql'
import type { ConstDirectiveNode, DocumentNode, GraphQLField, GraphQLInputType, GraphQLOutputType } from 'graphql'
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

/** The cost of one object of a field's type, without the cost of its selection. */
export function weightOf(rules: CostRules, parent: string, field: GraphQLField<unknown, unknown>, isMutation: boolean): number {
  const own = rules.weights.get(`${parent}.${field.name}`)
  if (own !== undefined) return own
  const type = getNamedType(field.type)
  return (rules.weights.get(type.name) ?? (isCompositeType(type) ? 1 : (rules.leafWeight ?? 0))) + (isMutation ? 10 : 0)
}

/** Computes the length of a field's list from the values of its arguments. */
export type Measure = { of(args: Readonly<Record<string, unknown>>): number; readonly sizedFields: readonly string[] }

const SLICING = new Set(['first', 'last', 'limit'])
const CONNECTED = ['edges', 'nodes']

/** Undefined if the field is no list and contains no sized fields. */
export function measureOf(rules: CostRules, parent: string, field: GraphQLField<unknown, unknown>): Measure | undefined {
  const isList = isListed(field.type)
  const declared = rules.listSizes.get(`${parent}.${field.name}`)
  const connected = isList ? [] : connectedFields(field.type)
  const sizedFields = declared?.sizedFields ?? connected
  if (!isList && sizedFields.length === 0) return undefined
  const slicing = declared?.slicingArguments ?? slicingArguments(field)
  const lists = new Set(field.args.filter(({ type }) => isListed(type)).map(({ name }) => name))
  const otherwise = declared?.assumedSize ?? rules.listSizeAssumed
  return {
    sizedFields: isList ? [] : sizedFields,
    of(args) {
      let size = -1
      for (const name of slicing) if (Object.hasOwn(args, name)) size = Math.max(size, sizeOf(args[name], lists.has(name)))
      return Math.min(size < 0 ? otherwise : size, SIZE_MAX)
    },
  }
}

function slicingArguments({ args }: GraphQLField<unknown, unknown>): string[] {
  return args.filter(({ name, type }) => SLICING.has(name) || isListed(type)).map(({ name }) => name)
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

/** -1: not given. Coercion refuses values that are neither numbers nor lists. A single value for a list is a list of one. */
function sizeOf(value: unknown, isList: boolean): number {
  if (Array.isArray(value)) return value.length
  if (typeof value === 'number' && !isList) return Number.isNaN(value) ? -1 : Math.max(0, value)
  return value === undefined || value === null ? -1 : 1
}

/**
 * The cost of an argument's value by the weights of the argument and of its given input fields. Undefined: the argument never costs
 * anything.
 */
export function argumentCost(rules: CostRules, place: string, type: GraphQLInputType): ((value: unknown) => number) | undefined {
  const own = rules.weights.get(place) ?? 0
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
      const given = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
      if (given !== undefined) sum += own + (inner?.(given) ?? 0)
    }
    return sum
  }
  return costOf
}

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
