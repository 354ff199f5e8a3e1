/**
 * The local transport runs a subgraph in this process: a schema built by `@apollo/subgraph`, each fetch compiled once by
 * graphql-jit. What jit cannot do is left to graphql-js, fetch by fetch:
 *
 * - it names resolvers by type and field run together, so `A.bC` and `Ab.C` would share one;
 * - it does not wait for types that are resolved asynchronously;
 * - it hands the variables instead of the arguments to `subscribe`: the source of a subscription is always opened by
 *   graphql-js, only its events are run by jit.
 *
 * As everywhere with jit, a field without a resolver is read, not called and not awaited.
 */
import { createSourceEventStream, execute, isAbstractType, isObjectType } from 'graphql'
import type { DocumentNode, GraphQLSchema } from 'graphql'
import { compileQuery, isCompiledQuery } from 'graphql-jit'
import { makeLru } from '../lru.ts'
import { makeEntitySchema } from './entity-schema.ts'
import type { CompiledFetch, FetchOperation, FetchResult, FetchVariables, Transport } from './transport.ts'

/** Compiled fetches kept for operations that share them; those in use are kept by their operations anyway. */
const FETCHES_MAX = 1_000

type Execute = (root: unknown, context: object, variables: FetchVariables) => FetchResult | Promise<FetchResult>

export function localTransport(schema: GraphQLSchema): Transport {
  const entities = makeEntitySchema(schema)
  const byJit = isFitForJit(schema)
  const fetches = makeLru<CompiledFetch>(FETCHES_MAX)
  const compile = (operation: FetchOperation): CompiledFetch => {
    const { document } = operation
    const lists = entities?.rewrite(document)
    if (entities !== undefined && lists !== undefined) {
      const run = compileExecute(entities.schema, lists.document, byJit)
      return { run: (variables, context) => run(rootOf(lists.lists, variables), context, variables), subscribe: noSubscription }
    }
    const run = compileExecute(schema, document, byJit)
    return {
      run: (variables, context) => run(undefined, context, variables),
      subscribe:
        operation.kind === 'subscription'
          ? (variables, context) => subscribeLocal(schema, document, run, variables, context)
          : noSubscription,
    }
  }
  return {
    remote: false,
    compile(operation) {
      const known = fetches.get(operation.text)
      if (known !== undefined) return known
      const fetch = compile(operation)
      fetches.set(operation.text, fetch)
      return fetch
    },
  }
}

function rootOf(lists: readonly { key: string; variable: string }[], variables: FetchVariables): Record<string, unknown> {
  const root: Record<string, unknown> = {}
  for (const { key, variable } of lists) root[key] = variables[variable]
  return root
}

function compileExecute(schema: GraphQLSchema, document: DocumentNode, byJit: boolean): Execute {
  const compiled = byJit ? compileOrUndefined(schema, document) : undefined
  if (compiled !== undefined) return compiled
  return (rootValue, contextValue, variableValues) => execute({ schema, document, rootValue, contextValue, variableValues })
}

function compileOrUndefined(schema: GraphQLSchema, document: DocumentNode): Execute | undefined {
  const compiled = compileQuery(schema, document, undefined, { disablingCapturingStackErrors: true })
  return isCompiledQuery(compiled) ? (compiled.query as Execute) : undefined
}

async function subscribeLocal(
  schema: GraphQLSchema,
  document: DocumentNode,
  run: Execute,
  variableValues: FetchVariables,
  contextValue: object,
): Promise<FetchResult | AsyncIterator<FetchResult>> {
  const source = await createSourceEventStream({ schema, document, variableValues, contextValue })
  if (!(Symbol.asyncIterator in source)) return source
  const events = source[Symbol.asyncIterator]()
  return {
    async next() {
      const event = await events.next()
      return event.done === true
        ? { done: true, value: undefined }
        : { done: false, value: await run(event.value, contextValue, variableValues) }
    },
    // Not an async generator: its return() would wait for the event that next() waits for, and there may be none.
    async return() {
      await events.return?.()
      return { done: true, value: undefined }
    },
  }
}

function noSubscription(): Promise<never> {
  return Promise.reject(new Error('this fetch is not a subscription'))
}

function isFitForJit(schema: GraphQLSchema): boolean {
  const names = new Set<string>()
  for (const type of Object.values(schema.getTypeMap())) {
    if (isAbstractType(type) && isAsync(type.resolveType)) return false
    if (!isObjectType(type)) continue
    if (isAsync(type.isTypeOf)) return false
    for (const field of Object.keys(type.getFields())) {
      const name = type.name + field
      if (names.has(name)) return false
      names.add(name)
    }
  }
  return true
}

function isAsync(value: unknown): boolean {
  return typeof value === 'function' && value.constructor.name === 'AsyncFunction'
}
