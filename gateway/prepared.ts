/** An operation ready to run: coerce the variables, run the plan, project the answer. */
import { GraphQLError, execute, getVariableValues } from 'graphql'
import type { DocumentNode, ExecutionResult, GraphQLSchema } from 'graphql'
import type { Viewer } from '../core/viewer.ts'
import type { CachePolicy } from './cache/policy.ts'
import { conditionVariables } from './conditions.ts'
import type { Values } from './conditions.ts'
import type { CompiledPlan, Source } from './executor.ts'
import { makeLru } from './lru.ts'
import type { ReadOperation } from './operations.ts'
import { codedError, withCode } from './operations.ts'
import { compilePlainVariables } from './plain-variables.ts'
import { makeNotes, replayed } from './replay.ts'
import type { Replays } from './replay.ts'
import type { Answer, Run } from './run.ts'
import { makeRun } from './run.ts'
import { introspectionKey } from './shape.ts'
import { clientError, unavailable } from './subgraph-errors.ts'
import type { FetchError, FetchResult } from './transports/transport.ts'

/** What a request carries to resolvers; the engine looks at who asks, and at nothing else. One per request. */
export type RequestContext = object & {
  /** Where resolvers note what their answers had to do without; see degraded.ts. */
  readonly degraded?: Set<string>
  /** Who asks; what he may see depends on it. */
  readonly viewer?: Viewer | undefined
}

export type Variables = Values | undefined

export type PreparedOperation = {
  readonly kind: 'query' | 'mutation' | 'subscription'
  readonly name: string | undefined
  /** SHA-256 of the text, in hexadecimal. */
  readonly hash: string
  /** What it costs with these variables, as they came: see operation-cost.ts. Never throws. */
  cost?(variables: Variables): number
  /** How long its answers may be kept; absent: not at all. */
  readonly cache?: CachePolicy
  /** What of it this viewer may not see, by the field's name in the schema (`Video.title`); absent: nothing is guarded. */
  denials?(viewer: Viewer | undefined): ReadonlyMap<string, FetchError>
  /** Runs a query or mutation. Never rejects; field errors are in the result. */
  execute(variables: Variables, context: RequestContext): Promise<ExecutionResult>
  /** The same; an answer without errors may come as the bytes of its JSON, where they are known. */
  executeToJson?(variables: Variables, context: RequestContext): Promise<ExecutionResult | Buffer>
  /** Runs a subscription: an error result, or a stream of results. */
  subscribe(variables: Variables, context: RequestContext): Promise<ExecutionResult | AsyncIterableIterator<ExecutionResult>>
}

type Coerced = { readonly variables: Values } | { readonly errors: readonly GraphQLError[] }

const NO_VARIABLES = Object.freeze({})
/** Combinations of an operation that are kept; a client may try them all. */
const VARIANTS_MAX = 16
const COERCION_ERRORS_MAX = 50

/** An operation compiled for one combination of the variables of its conditions. */
export type Variant = {
  /** Its own among all of the engine. */
  readonly key: string
  readonly plan: CompiledPlan
  readonly introspect: (run: Run) => void
  readonly project: (run: Run) => Answer
}

/** Throws what `compile` throws for the combination that lets most in. */
export function compileOperation(
  schema: GraphQLSchema,
  read: ReadOperation,
  replays: Replays,
  compile: (variables: Values) => Variant,
): PreparedOperation {
  const { operation, hash } = read
  const coerce = compileCoercion(schema, read)
  const variantOf = compileVariants(read, compile)

  const answer = async (variables: Values, context: RequestContext): Promise<ExecutionResult> => {
    return answerOf(variantOf(variables), makeRun({}, variables, context))
  }

  async function answerInJson(variables: Values, context: RequestContext): Promise<ExecutionResult | Buffer> {
    const variant = variantOf(variables)
    const { plan } = variant
    if (!plan.replayable) return answerOf(variant, makeRun({}, variables, context))
    const key = variables === NO_VARIABLES ? variant.key : variant.key + JSON.stringify(variables)
    const recording = replays.get(key)
    let notes = makeNotes()
    if (recording !== undefined) {
      const { outcome, begun } = await replayed(recording, (replay) => plan.step(makeRun({}, variables, context, { replay })))
      if (outcome === 'same') return recording.json
      if (outcome === 'differs' && replays.get(key) === recording) replays.forget(key)
      notes = makeNotes(begun)
    }
    const run = makeRun({}, variables, context, { notes })
    const result = await answerOf(variant, run)
    if (!notes.allKept || run.failures.length > 0 || result.errors !== undefined) return result
    const json = Buffer.from(JSON.stringify(result))
    replays.set(key, notes, json)
    return json
  }

  const executing =
    <Result>(run: (variables: Values, context: RequestContext) => Promise<Result>) =>
    async (given: Variables, context: RequestContext): Promise<Result | ExecutionResult> => {
      try {
        if (operation.operation === 'subscription') {
          return { errors: [codedError('BAD_REQUEST', 'This is a subscription: send it over a connection that can stream.')] }
        }
        const coerced = coerce(given)
        return 'errors' in coerced ? coerced : await run(coerced.variables, context)
      } catch (thrown) {
        return { errors: [requestError(thrown)] }
      }
    }

  return {
    kind: operation.operation,
    name: operation.name?.value,
    hash,
    execute: executing(answer),
    ...(operation.operation === 'query' ? { executeToJson: executing(answerInJson) } : {}),
    async subscribe(given, context) {
      try {
        if (operation.operation !== 'subscription')
          return { errors: [codedError('BAD_REQUEST', `This is a ${operation.operation}, not a subscription.`)] }
        const coerced = coerce(given)
        if ('errors' in coerced) return coerced
        const { plan, project } = variantOf(coerced.variables)
        if (plan.source === undefined) return emptyStream()
        return await openStream(plan.source, plan, project, coerced.variables, context)
      } catch (thrown) {
        return { errors: [requestError(thrown)] }
      }
    },
  }
}

async function answerOf({ plan, introspect, project }: Variant, run: Run): Promise<Answer> {
  const pending = plan.step(run)
  introspect(run)
  if (pending !== undefined) await pending
  return project(run)
}

/** A subscription whose one field is excluded has nothing to wait for. */
function emptyStream(): AsyncIterableIterator<ExecutionResult> {
  return streamOf(
    { next: () => Promise.resolve({ done: true, value: undefined }) },
    () => Promise.reject(new Error('no event was sent')),
    () => ({}),
  )
}

function compileCoercion(schema: GraphQLSchema, { operation }: ReadOperation): (given: Variables) => Coerced {
  const definitions = operation.variableDefinitions ?? []
  if (definitions.length === 0) return () => ({ variables: NO_VARIABLES })
  const plain = compilePlainVariables(schema, definitions)
  return (given) => {
    const values = plain?.(given)
    if (values !== undefined) return { variables: values }
    const { coerced, errors } = getVariableValues(schema, definitions, given ?? {}, { maxErrors: COERCION_ERRORS_MAX })
    return coerced === undefined
      ? { errors: (errors ?? []).map((error) => withCode(error, 'GRAPHQL_VALIDATION_FAILED')) }
      : { variables: coerced }
  }
}

function compileVariants({ operation, fragments }: ReadOperation, compile: (variables: Values) => Variant): (variables: Values) => Variant {
  const conditions = conditionVariables(operation, fragments)
  const most = compile(Object.fromEntries(conditions))
  if (conditions.size === 0) return () => most
  const names = [...conditions.keys()]
  const keyOf = (variables: Values): string => names.map((name) => (variables[name] === true ? '1' : '0')).join('')
  const known = makeLru<Variant>(VARIANTS_MAX)
  known.set(keyOf(Object.fromEntries(conditions)), most)
  return (variables) => {
    const key = keyOf(variables)
    let variant = known.get(key)
    if (variant === undefined) {
      variant = compile(variables)
      known.set(key, variant)
    }
    return variant
  }
}

/** Introspection is answered by graphql-js from the API schema; without variables, once. */
export function compileIntrospection(schema: GraphQLSchema, document: DocumentNode | undefined, isConstant: boolean): (run: Run) => void {
  if (document === undefined) return () => {}
  const answer = (variableValues: Values) => execute({ schema, document, variableValues }) as ExecutionResult
  let constant: ExecutionResult | undefined
  return (run) => {
    const { data, errors } = isConstant ? (constant ??= answer(NO_VARIABLES)) : answer(run.variables)
    for (const key of Object.keys(data ?? {})) run.data[introspectionKey(key)] = data?.[key]
    for (const error of errors ?? []) run.failures.push({ error, path: undefined })
  }
}

async function openStream(
  source: Source,
  plan: CompiledPlan,
  project: (run: Run) => Answer,
  variables: Values,
  context: RequestContext,
): Promise<ExecutionResult | AsyncIterableIterator<ExecutionResult>> {
  const answer = async (event: FetchResult): Promise<ExecutionResult> => {
    const run = makeRun({}, variables, context)
    source.take(run, event)
    const pending = plan.step(run)
    if (pending !== undefined) await pending
    return project(run)
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

/** One answer per event, in order. A stream that fails says so in a last answer, and ends. */
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
