/**
 * The judge limits the size of an operation. It runs once per operation, before validation. Its figures, with all fragments spread:
 *
 * - the depth of the selection, and the number of fields;
 * - the number of aliases, which can select one expensive field many times;
 * - the number of variables in @skip and @include, because every combination of their values has its own plan.
 *
 * Three more limits protect parsers and validation: the nesting of braces (the planner's parser gives up beyond 48), the depth of literals,
 * and the number of times that one place selects the same key (validation compares each pair).
 *
 * The result is the worst case: both sides of `@skip` and `@include` count, and so does every repetition of a field. The cost with the
 * variables of a request is computed later; see operation-cost.ts.
 *
 * Each fragment is measured once. A chain of fragments that spread each other twice doubles its fields with every link. Its figures
 * saturate at Infinity, and the judge takes time in proportion to its length. A fragment that contains itself is refused here, although
 * validation would refuse it too.
 *
 * Introspection has separate limits, so that the query of GraphiQL passes. They bound only the text. MaxIntrospectionDepthRule of
 * graphql-js allows two nested lists, and their values still multiply. introspection-cost.ts therefore counts the values of the answer.
 */
import {
  OperationTypeNode,
  GraphQLError,
  Kind,
  getOperationAST,
  type DocumentNode,
  type FragmentDefinitionNode,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql'
import { conditionVariables } from '../operation/conditions.ts'
import type { Judge } from '../operation/operations.ts'
import { fragmentsOf } from '../operation/plan-document.ts'

/** Settings of the section `server` of the configuration. */
export type JudgeLimits = {
  /** Levels of selection. */
  readonly operationDepthMax: number
  /** Fields once fragments are spread. */
  readonly operationFieldsMax: number
  /** Fields at the root of a mutation, each of which may carry a batch. */
  readonly operationMutationsMax: number
  /** Aliased fields once fragments are spread. Default 100. */
  readonly operationAliasesMax?: number
}

const ALIASES_MAX = 100
/** Each combination of their values is planned and compiled separately; see conditions.ts. */
const CONDITION_VARIABLES_MAX = 8
const NESTING_MAX = 40
const REPEATS_MAX = 100
const LITERAL_DEPTH_MAX = 20
const INTROSPECTION_DEPTH_MAX = 20
const INTROSPECTION_FIELDS_MAX = 1_000

type Size = {
  depth: number
  nesting: number
  literalDepth: number
  fields: number
  aliases: number
  introspectionDepth: number
  introspectionFields: number
}

const NOTHING: Readonly<Size> = {
  depth: 0,
  nesting: 0,
  literalDepth: 0,
  fields: 0,
  aliases: 0,
  introspectionDepth: 0,
  introspectionFields: 0,
}

const ENDLESS: Readonly<Size> = {
  depth: Infinity,
  nesting: Infinity,
  literalDepth: 0,
  fields: Infinity,
  aliases: Infinity,
  introspectionDepth: Infinity,
  introspectionFields: Infinity,
}

export function makeJudge(limits: JudgeLimits): Judge {
  const { operationDepthMax, operationFieldsMax, operationMutationsMax, operationAliasesMax = ALIASES_MAX } = limits
  return function judge(document, operationName) {
    const operation = getOperationAST(document, operationName)
    if (operation === null || operation === undefined) return []
    const size = measure(operation.selectionSet, fragmentsOf(document), new Map())
    const name = operation.name === undefined ? 'the operation' : `operation ${operation.name.value}`
    const refuse = (message: string) => refusal(`${name} ${message}`, operation)
    if (size.depth === Infinity) return [refuse('spreads a fragment within itself: remove the spread that closes the cycle')]
    const refusals: GraphQLError[] = []
    if (size.depth > operationDepthMax) refusals.push(refuse(`selects ${figure(size.depth)} levels: select at most ${operationDepthMax}`))
    if (size.fields > operationFieldsMax) {
      refusals.push(
        refuse(`selects ${figure(size.fields)} fields once its fragments are spread: select at most ${operationFieldsMax}, or split it`),
      )
    }
    if (size.aliases > operationAliasesMax) {
      refusals.push(refuse(`has ${figure(size.aliases)} aliases: use at most ${operationAliasesMax}, or pass many ids to one field`))
    }
    if (size.nesting > NESTING_MAX && size.depth <= operationDepthMax)
      refusals.push(refuse(`nests ${figure(size.nesting)} selections, fragments included: nest at most ${NESTING_MAX}`))
    const literalLevels = Math.max(size.literalDepth, ...defaultValues(operation).map(literalDepth))
    if (literalLevels > LITERAL_DEPTH_MAX)
      refusals.push(
        refuse(
          `has a literal of ${literalLevels} levels: write at most ${LITERAL_DEPTH_MAX}, or send the value in the variables of the request`,
        ),
      )
    const conditions = conditionVariables(operation, fragmentsOf(document)).size
    if (conditions > CONDITION_VARIABLES_MAX) {
      refusals.push(
        refuse(
          `has ${conditions} variables in @skip and @include: use at most ${CONDITION_VARIABLES_MAX}, or split it into several operations`,
        ),
      )
    }
    if (
      operation.operation === OperationTypeNode.MUTATION &&
      countRoots(operation.selectionSet, fragmentsOf(document), new Set()) > operationMutationsMax
    ) {
      refusals.push(refuse(`has more than ${operationMutationsMax} mutations: each may write a whole batch, so send them in several calls`))
    }
    if (size.introspectionDepth > INTROSPECTION_DEPTH_MAX || size.introspectionFields > INTROSPECTION_FIELDS_MAX) {
      refusals.push(
        refuse(
          `introspects too much: select at most ${INTROSPECTION_DEPTH_MAX} levels and ${INTROSPECTION_FIELDS_MAX} fields of the schema`,
        ),
      )
    }
    // This check comes last because it walks every fragment from every place. An operation that passed the others is small enough for it.
    const repeated = refusals.length === 0 ? mostRepeated(document) : undefined
    if (repeated !== undefined && repeated.times > REPEATS_MAX)
      refusals.push(refuse(`selects "${repeated.key}" ${repeated.times} times in one place: select it at most ${REPEATS_MAX} times`))
    return refusals
  }
}

/** The key that one selection set repeats most often. Each of its fragments is read once. */
function mostRepeated(document: DocumentNode): { readonly key: string; readonly times: number } | undefined {
  const fragments = fragmentsOf(document)
  let most: { key: string; times: number } | undefined
  for (const definition of document.definitions) if ('selectionSet' in definition) visitSet(definition.selectionSet)
  return most

  function visitSet(set: SelectionSetNode): void {
    const times = new Map<string, number>()
    collect(set, times, new Set())
    for (const [key, count] of times) if (count > (most?.times ?? 0)) most = { key, times: count }
    for (const selection of set.selections)
      if (selection.kind !== Kind.FRAGMENT_SPREAD && selection.selectionSet !== undefined) visitSet(selection.selectionSet)
  }

  function collect(set: SelectionSetNode, times: Map<string, number>, spread: Set<string>): void {
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) {
        const key = (selection.alias ?? selection.name).value
        times.set(key, (times.get(key) ?? 0) + 1)
      } else if (selection.kind === Kind.INLINE_FRAGMENT) collect(selection.selectionSet, times, spread)
      else if (!spread.has(selection.name.value)) {
        spread.add(selection.name.value)
        const fragment = fragments.get(selection.name.value)
        if (fragment !== undefined) collect(fragment.selectionSet, times, spread)
      }
    }
  }
}

/** The fields at the root, fragments included. `spread` holds the visited fragments, so that recursive ones end. */
function countRoots(selectionSet: SelectionSetNode, fragments: ReadonlyMap<string, FragmentDefinitionNode>, spread: Set<string>): number {
  let roots = 0
  for (const selection of selectionSet.selections) {
    if (selection.kind === Kind.FIELD) roots++
    else if (selection.kind === Kind.INLINE_FRAGMENT) roots += countRoots(selection.selectionSet, fragments, spread)
    else if (!spread.has(selection.name.value)) {
      spread.add(selection.name.value)
      const fragment = fragments.get(selection.name.value)
      if (fragment !== undefined) roots += countRoots(fragment.selectionSet, fragments, spread)
    }
  }
  return roots
}

function figure(count: number): string {
  return count > 1e9 ? 'infinitely many' : String(count)
}

function refusal(message: string, operation: OperationDefinitionNode): GraphQLError {
  return new GraphQLError(message, { nodes: [operation], extensions: { code: 'OPERATION_TOO_LARGE' } })
}

/** `known` holds the measured fragments. While a fragment is being measured, it counts as endless. */
function measure(
  selectionSet: SelectionSetNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  known: Map<string, Readonly<Size>>,
): Size {
  const size: Size = { ...NOTHING }
  for (const selection of selectionSet.selections) {
    if (selection.kind === Kind.FIELD) {
      const below = selection.selectionSet === undefined ? undefined : measure(selection.selectionSet, fragments, known)
      const name = selection.name.value
      add(size, name === '__schema' || name === '__type' ? introspectionField(below) : dataField(below))
      if (selection.alias !== undefined && selection.alias.value !== name) size.aliases += 1
      for (const { value } of selection.arguments ?? []) size.literalDepth = Math.max(size.literalDepth, literalDepth(value))
    } else {
      const inner =
        selection.kind === Kind.INLINE_FRAGMENT ? measure(selection.selectionSet, fragments, known) : measureFragment(selection.name.value)
      add(size, { ...inner, nesting: inner.nesting + 1 })
    }
  }
  return size

  function measureFragment(name: string): Readonly<Size> {
    const remembered = known.get(name)
    if (remembered !== undefined) return remembered
    const fragment = fragments.get(name)
    known.set(name, ENDLESS)
    // Validation reports a missing fragment.
    const measured = fragment === undefined ? { ...NOTHING } : measure(fragment.selectionSet, fragments, known)
    known.set(name, measured)
    return measured
  }
}

function dataField(below: Readonly<Size> | undefined): Readonly<Size> {
  if (below === undefined) return { ...NOTHING, depth: 1, nesting: 1, fields: 1 }
  return { ...below, depth: below.depth + 1, nesting: below.nesting + 1, fields: below.fields + 1 }
}

/** Everything below `__schema` or `__type` counts as introspection. */
function introspectionField(below: Readonly<Size> | undefined): Readonly<Size> {
  const { depth, fields, ...rest } = dataField(below)
  return { ...rest, depth: 0, fields: 0, introspectionDepth: depth, introspectionFields: fields }
}

function defaultValues({ variableDefinitions = [] }: OperationDefinitionNode): ValueNode[] {
  return variableDefinitions.flatMap(({ defaultValue }) => defaultValue ?? [])
}

function literalDepth(value: ValueNode): number {
  let depth = 0
  if (value.kind === Kind.LIST) for (const item of value.values) depth = Math.max(depth, literalDepth(item))
  else if (value.kind === Kind.OBJECT) for (const field of value.fields) depth = Math.max(depth, literalDepth(field.value))
  else return 0
  return depth + 1
}

function add(size: Size, other: Readonly<Size>): void {
  size.depth = Math.max(size.depth, other.depth)
  size.nesting = Math.max(size.nesting, other.nesting)
  size.literalDepth = Math.max(size.literalDepth, other.literalDepth)
  size.fields += other.fields
  size.aliases += other.aliases
  size.introspectionDepth = Math.max(size.introspectionDepth, other.introspectionDepth)
  size.introspectionFields += other.introspectionFields
}
