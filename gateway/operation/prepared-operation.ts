/** A prepared operation coerces the variables, runs the plan and projects the answer. */
import { GraphQLError, execute, getVariableValues } from 'graphql'
import type { DocumentNode, ExecutionResult, GraphQLSchema } from 'graphql'
import type { Viewer } from '../../core/viewer.ts'
import type { CachePolicy } from '../cache/cache-policy.ts'
import { conditionVariables } from './conditions.ts'
import type { VariableValues } from './conditions.ts'
import type { CompiledPlan, Source } from '../execution/executor.ts'
import { compileExactIds } from '../request/exact-ids.ts'
import { NOTHING_HELD, type Family } from '../memory/family.ts'
import { ERROR_BYTES, compileCostMs, treeBytes } from '../memory/estimates.ts'
import type { Holding } from '../memory/client-memory.ts'
import type { Gate, Preparing, Work } from './preparing.ts'
import type { ReadOperation } from './operations.ts'
import { codedError, compileError, invalidErrors } from './operations.ts'
import { compilePlainVariables } from './plain-variables.ts'
import type { Projection } from '../execution/projection.ts'
import type { Run } from '../execution/run.ts'
import { isPromise, makeRun } from '../execution/run.ts'
import { introspectionKey } from '../execution/shape.ts'
import { clientError, unavailable } from '../execution/subgraph-errors.ts'
import type { FetchError, FetchResult } from '../transports/transport.ts'

/** The context that a request passes to resolvers. The engine reads only the viewer. One per request. */
export type RequestContext = object & {
  /** Resolvers note the stores that were unavailable for their answers; see degraded.ts. */
  readonly degraded?: Set<string>
  /** The viewer decides which fields may be seen. */
  readonly viewer?: Viewer | undefined
}

export type Variables = VariableValues | undefined

export type PreparedOperation = {
  readonly kind: 'query' | 'mutation' | 'subscription'
  readonly name: string | undefined
  /** SHA-256 of the text, in hexadecimal. */
  readonly hash: string
  /** The cost with these uncoerced variables; see operation-cost.ts. Never throws. */
  cost?(variables: Variables): number
  /** How long caches may keep an answer. Absent: not at all. */
  readonly cache?: CachePolicy
  /** The fields that this viewer may not see, by schema coordinate (`Video.title`). Absent: no field is guarded. */
  denials?(viewer: Viewer | undefined): ReadonlyMap<string, FetchError>
  /** Estimated bytes in memory. Absent: unknown. */
  readonly bytes?: number
  /**
   * Runs a query or mutation. It never rejects; field errors are in the result. It asks `gate` before it compiles, for example for a
   * new combination of conditions. Without a gate it compiles at once.
   */
  execute(variables: Variables, context: RequestContext, gate?: Gate): Promise<ExecutionResult>
  /** The same. An answer without errors may come as the bytes of its JSON. */
  executeToJson?(variables: Variables, context: RequestContext, gate?: Gate): Promise<ExecutionResult | Buffer>
  /** Runs a subscription: an error result, or a stream of results. */
  subscribe(variables: Variables, context: RequestContext, gate?: Gate): Promise<ExecutionResult | AsyncIterableIterator<ExecutionResult>>
}

/** An operation, or the errors that refuse it. */
export type Prepared = PreparedOperation | { readonly errors: readonly GraphQLError[] }

type Coerced = { readonly variables: VariableValues } | { readonly errors: readonly GraphQLError[] }

const NO_VARIABLES = Object.freeze({})
const COERCION_ERRORS_MAX = 50
const INTROSPECTION_COST_MS = 10

/** An operation that was compiled for one combination of its condition variables. */
export type Variant = {
  readonly plan: CompiledPlan
  readonly introspect: (run: Run) => void
  readonly projection: Projection
  /** Estimated bytes in memory. */
  readonly bytes: number
}

/** State that all operations of an engine share during compilation. */
export type Compiling = {
  readonly schema: GraphQLSchema
  readonly preparing: Preparing
  /** Holds the values of the operation in the memory. */
  readonly family: Family
}

export type CompiledOperation = {
  readonly prepared: PreparedOperation
  /** Compiles the combination that includes most fields. Without conditions it is the only combination. */
  compileMost(): Work<Variant>
}

/** `compile` makes a variant when it is first needed. */
export function compileOperation(
  around: Compiling,
  read: ReadOperation,
  compile: (variables: VariableValues) => Work<Variant>,
): CompiledOperation {
  const { schema } = around
  const { operation, hash } = read
  const coerce = compileCoercion(schema, read)
  const { variantOf, compileMost } = compileVariants(around, read, compile)

  const answer = async (variables: VariableValues, context: RequestContext, gate: Gate | undefined): Promise<ExecutionResult> => {
    const found = variantOf(variables, gate)
    const variant = isPromise(found) ? await found : found
    const run = makeRun({}, variables, context)
    await runPlan(variant, run)
    return variant.projection.toAnswer(run)
  }

  async function answerInJson(
    variables: VariableValues,
    context: RequestContext,
    gate: Gate | undefined,
  ): Promise<ExecutionResult | Buffer> {
    const found = variantOf(variables, gate)
    const variant = isPromise(found) ? await found : found
    const { plan, projection } = variant
    const run = makeRun({}, variables, context, plan.isRemote)
    await runPlan(variant, run)
    return plan.isRemote ? projection.toJson(run) : projection.toAnswer(run)
  }

  const executing =
    <Result>(run: (variables: VariableValues, context: RequestContext, gate: Gate | undefined) => Promise<Result>) =>
    async (given: Variables, context: RequestContext, gate?: Gate): Promise<Result | ExecutionResult> => {
      try {
        if (operation.operation === 'subscription') {
          return { errors: [codedError('BAD_REQUEST', 'This is a subscription: send it over a connection that can stream.')] }
        }
        const coerced = coerce(given)
        return 'errors' in coerced ? coerced : await run(coerced.variables, context, gate)
      } catch (thrown) {
        return { errors: [requestError(thrown)] }
      }
    }

  const prepared: PreparedOperation = {
    kind: operation.operation,
    name: operation.name?.value,
    hash,
    execute: executing(answer),
    executeToJson: executing(answerInJson),
    async subscribe(given, context, gate) {
      try {
        if (operation.operation !== 'subscription')
          return { errors: [codedError('BAD_REQUEST', `This is a ${operation.operation}, not a subscription.`)] }
        const coerced = coerce(given)
        if ('errors' in coerced) return coerced
        const found = variantOf(coerced.variables, gate)
        const { plan, projection } = isPromise(found) ? await found : found
        if (plan.source === undefined) return emptyStream()
        return await openStream(plan.source, plan, projection, coerced.variables, context)
      } catch (thrown) {
        return { errors: [requestError(thrown)] }
      }
    },
  }
  return { prepared, compileMost }
}

async function runPlan({ plan, introspect }: Variant, run: Run): Promise<void> {
  const pending = plan.step(run)
  if (pending !== undefined) await pending
  // Last: the answer of introspection may be kept for all callers, and no answer of a subgraph may change it.
  introspect(run)
}

/** The stream of a subscription whose only field is excluded. It ends at once. */
function emptyStream(): AsyncIterableIterator<ExecutionResult> {
  return streamOf(
    { next: () => Promise.resolve({ done: true, value: undefined }) },
    () => Promise.reject(new Error('no event was sent')),
    () => ({}),
  )
}

/** The returned function gives the coerced variables, or the errors. */
export function compileCoercion(
  schema: GraphQLSchema,
  { operation, mayHint }: Pick<ReadOperation, 'operation' | 'mayHint'>,
): (given: Variables) => Coerced {
  const definitions = operation.variableDefinitions ?? []
  if (definitions.length === 0) return () => ({ variables: NO_VARIABLES })
  const plain = compilePlainVariables(schema, definitions)
  const findInexactId = compileExactIds(schema, definitions)
  return (given) => {
    const values = plain(given)
    if (values !== undefined) return { variables: values }
    const inexact = findInexactId?.(given)
    if (inexact !== undefined) return { errors: [inexact] }
    const options = { maxErrors: COERCION_ERRORS_MAX, hideSuggestions: !mayHint }
    const { coerced, errors = [] } = getVariableValues(schema, definitions, given ?? {}, options)
    return coerced === undefined ? { errors: invalidErrors(errors, schema, mayHint) } : { variables: coerced }
  }
}

/** A failed compilation is kept as its error. */
type Kept = { readonly variant: Variant | GraphQLError; holding: Holding }

/** Compiles a variant when it is first needed, and keeps it as long as the memory has room. */
function compileVariants({ preparing, family }: Compiling, read: ReadOperation, compile: (variables: VariableValues) => Work<Variant>) {
  const conditions = conditionVariables(read.operation, read.fragments)
  const most = Object.fromEntries(conditions)
  const names = [...conditions.keys()]
  const keyOf = (variables: VariableValues): string => names.map((name) => (variables[name] === true ? '1' : '0')).join('')
  const known = new Map<string, Kept>()
  const underWay = new Map<string, Promise<Variant>>()

  function variantOf(variables: VariableValues, gate: Gate | undefined): Variant | Promise<Variant> {
    const key = names.length === 0 ? '' : keyOf(variables)
    const kept = known.get(key)
    if (kept !== undefined) {
      kept.holding.touch()
      if (kept.variant instanceof GraphQLError) throw kept.variant
      return kept.variant
    }
    return underWay.get(key) ?? make(key, variables, gate)
  }

  function make(key: string, variables: VariableValues, gate: Gate | undefined): Variant | Promise<Variant> {
    const made = preparing.run(read.length, gate, () => measured(key, variables))
    if (!isPromise(made)) return made
    const settled = made.finally(() => underWay.delete(key))
    underWay.set(key, settled)
    return settled
  }

  function* measured(key: string, variables: VariableValues): Work<Variant> {
    try {
      const variant = yield* compile(variables)
      keep(key, variant, variant.bytes)
      return variant
    } catch (thrown) {
      const error = compileError(thrown)
      keep(key, error, ERROR_BYTES)
      throw error
    }
  }

  function keep(key: string, variant: Variant | GraphQLError, bytes: number): void {
    const kept: Kept = { variant, holding: NOTHING_HELD }
    known.set(key, kept)
    kept.holding = family.hold('variant', bytes, compileCostMs(bytes), () => {
      if (known.get(key) === kept) known.delete(key)
    })
  }

  return { variantOf, compileMost: () => measured(keyOf(most), most) }
}

/** graphql-js answers introspection from the API schema. Without variables the answer is kept while the memory has room. */
export function compileIntrospection(
  schema: GraphQLSchema,
  document: DocumentNode | undefined,
  isConstant: boolean,
  family: Family,
): (run: Run) => void {
  if (document === undefined) return () => {}
  const answer = (variableValues: VariableValues) => execute({ schema, document, variableValues }) as ExecutionResult
  let constant: ExecutionResult | undefined
  let holding = NOTHING_HELD
  const keep = (result: ExecutionResult): ExecutionResult => {
    constant = result
    holding = family.hold('answer', treeBytes(JSON.stringify(result).length), INTROSPECTION_COST_MS, () => (constant = undefined))
    return result
  }
  return (run) => {
    holding.touch()
    const { data, errors } = isConstant ? (constant ?? keep(answer(NO_VARIABLES))) : answer(run.variables)
    for (const key of Object.keys(data ?? {})) run.data[introspectionKey(key)] = data?.[key]
    for (const error of errors ?? []) run.failures.push({ error, path: undefined })
  }
}

async function openStream(
  source: Source,
  plan: CompiledPlan,
  projection: Projection,
  variables: VariableValues,
  context: RequestContext,
): Promise<ExecutionResult | AsyncIterableIterator<ExecutionResult>> {
  const answer = async (event: FetchResult): Promise<ExecutionResult> => {
    const run = makeRun({}, variables, context)
    source.take(run, event)
    const pending = plan.step(run)
    if (pending !== undefined) await pending
    return projection.toAnswer(run)
  }
  let opened: FetchResult | AsyncIterator<FetchResult>
  try {
    opened = await source.open(variables, context)
  } catch (thrown) {
    return { errors: [clientError(unavailable(source.subgraph, thrown), undefined)] }
  }
  if (!('next' in opened)) return refusal(opened, source)
  return streamOf(opened, answer, (thrown) => ({ errors: [clientError(unavailable(source.subgraph, thrown), undefined)] }))
}

function refusal({ errors }: FetchResult, { subgraph }: Source): ExecutionResult {
  const given = errors ?? []
  const all = given.length > 0 ? given : [unavailable(subgraph, new Error('it opened no stream'))]
  return { errors: all.map((error) => clientError(error, undefined)) }
}

/** One answer per event, in order. If the stream fails, a last answer has the error, and the stream ends. */
function streamOf(
  events: AsyncIterator<FetchResult>,
  answer: (event: FetchResult) => Promise<ExecutionResult>,
  failed: (thrown: unknown) => ExecutionResult,
): AsyncIterableIterator<ExecutionResult> {
  let ended = false
  const end = async (): Promise<IteratorResult<ExecutionResult>> => {
    if (!ended) {
      ended = true
      await events.return?.()
    }
    return { done: true, value: undefined }
  }
  return {
    async next() {
      if (ended) return { done: true, value: undefined }
      try {
        const event = await events.next()
        if (event.done !== true) return { done: false, value: await answer(event.value) }
        ended = true
        return { done: true, value: undefined }
      } catch (thrown) {
        await end().catch(() => {})
        return { done: false, value: failed(thrown) }
      }
    },
    return: end,
    async throw(error) {
      await end()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

function requestError(thrown: unknown): GraphQLError {
  if (thrown instanceof GraphQLError) return thrown
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  return clientError(
    { message: 'The operation failed inside the gateway.', extensions: { code: 'INTERNAL' }, originalError: error },
    undefined,
  )
}
