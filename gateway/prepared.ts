/** An operation ready to run: coerce the variables, run the plan, project the answer. */
import { execute, getVariableValues } from 'graphql'
import type { DocumentNode, ExecutionResult, GraphQLError, GraphQLSchema } from 'graphql'
import type { CompiledPlan, Source } from './executor.ts'
import { makeLru } from './lru.ts'
import type { DataKeys } from './plan-document.ts'
import type { ReadOperation } from './operations.ts'
import { codedError, withCode } from './operations.ts'
import { compileProjection } from './projection.ts'
import type { Answer, Run } from './run.ts'
import { makeRun } from './run.ts'
import { conditionVariables, introspectionKey, makeShape } from './shape.ts'
import type { ShapeSource } from './shape.ts'
import { clientError, unavailable } from './subgraph-errors.ts'
import type { FetchResult } from './transports/transport.ts'

/** What a request carries to resolvers; the engine does not look inside. One per request. */
export type RequestContext = object

export type Variables = Readonly<Record<string, unknown>> | undefined

export type PreparedOperation = {
  readonly kind: 'query' | 'mutation' | 'subscription'
  readonly name: string | undefined
  /** SHA-256 of the text, in hexadecimal. */
  readonly hash: string
  /** Runs a query or mutation. Never rejects; field errors are in the result. */
  execute(variables: Variables, context: RequestContext): Promise<ExecutionResult>
  /** The same as `JSON.stringify(await execute(…))`, where there is a faster way to it. */
  executeToJson?(variables: Variables, context: RequestContext): Promise<string>
  /** Runs a subscription: an error result, or a stream of results. */
  subscribe(variables: Variables, context: RequestContext): Promise<ExecutionResult | AsyncIterableIterator<ExecutionResult>>
}

type Coerced = { readonly variables: Readonly<Record<string, unknown>> } | { readonly errors: readonly GraphQLError[] }

const NO_VARIABLES = Object.freeze({})
/** Combinations of @skip and @include variables for which projections are kept; a client may try them all. */
const SHAPES_MAX = 32
const COERCION_ERRORS_MAX = 50

export function compileOperation(
  schema: GraphQLSchema,
  read: ReadOperation,
  dataKeys: DataKeys,
  plan: CompiledPlan,
  introspection: DocumentNode | undefined,
): PreparedOperation {
  const { operation, hash } = read
  const coerce = compileCoercion(schema, read)
  const project = projectionByConditions({ schema, dataKeys, operation, fragments: read.fragments })
  const introspect = compileIntrospection(schema, introspection, (operation.variableDefinitions ?? []).length === 0)

  const answer = async (variables: Readonly<Record<string, unknown>>, context: RequestContext): Promise<ExecutionResult> => {
    const run = makeRun({}, variables, context)
    const pending = plan.step(run)
    introspect(run)
    if (pending !== undefined) await pending
    return project(run)
  }

  return {
    kind: operation.operation,
    name: operation.name?.value,
    hash,
    async execute(given, context) {
      try {
        if (operation.operation === 'subscription')
          return { errors: [codedError('BAD_REQUEST', 'This is a subscription: send it over a connection that can stream.')] }
        const coerced = coerce(given)
        return 'errors' in coerced ? coerced : await answer(coerced.variables, context)
      } catch (thrown) {
        return { errors: [internalError(thrown)] }
      }
    },
    async subscribe(given, context) {
      try {
        const coerced = coerce(given)
        if ('errors' in coerced) return coerced
        const { source } = plan
        if (source === undefined) return { errors: [codedError('BAD_REQUEST', `This is a ${operation.operation}, not a subscription.`)] }
        return await openStream(source, plan, project, coerced.variables, context)
      } catch (thrown) {
        return { errors: [internalError(thrown)] }
      }
    },
  }
}

function compileCoercion(schema: GraphQLSchema, { operation }: ReadOperation): (given: Variables) => Coerced {
  const definitions = operation.variableDefinitions ?? []
  if (definitions.length === 0) return () => ({ variables: NO_VARIABLES })
  return (given) => {
    const { coerced, errors } = getVariableValues(schema, definitions, given ?? {}, { maxErrors: COERCION_ERRORS_MAX })
    return coerced === undefined
      ? { errors: (errors ?? []).map((error) => withCode(error, 'GRAPHQL_VALIDATION_FAILED')) }
      : { variables: coerced }
  }
}

function projectionByConditions(source: ShapeSource): (run: Run) => Answer {
  const names = conditionVariables(source.operation, source.fragments)
  const compile = (variables: Readonly<Record<string, unknown>>) => compileProjection(makeShape(source, variables))
  if (names.length === 0) {
    const project = compile(NO_VARIABLES)
    return project
  }
  const known = makeLru<(run: Run) => Answer>(SHAPES_MAX)
  return (run) => {
    const key = names.map((name) => (run.variables[name] === true ? '1' : '0')).join('')
    let project = known.get(key)
    if (project === undefined) {
      project = compile(run.variables)
      known.set(key, project)
    }
    return project(run)
  }
}

/** Introspection is answered by graphql-js from the API schema; without variables, once. */
function compileIntrospection(schema: GraphQLSchema, document: DocumentNode | undefined, isConstant: boolean): (run: Run) => void {
  if (document === undefined) return () => {}
  const answer = (variableValues: Readonly<Record<string, unknown>>) => execute({ schema, document, variableValues }) as ExecutionResult
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
  variables: Readonly<Record<string, unknown>>,
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

function internalError(thrown: unknown) {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  return clientError(
    { message: 'The operation failed inside the gateway.', extensions: { code: 'INTERNAL' }, originalError: error },
    undefined,
  )
}
