/**
 * The local transport runs a subgraph in this process: a schema built by `@apollo/subgraph`. A fetch that runs often is compiled.
 * With plain fields, entity-calls.ts compiles a fetch of entities, and root-list.ts a query of one list. graphql-jit compiles the other
 * frequent fetches that it supports. graphql-js runs the rest. jit does not support this:
 *
 * - jit names resolvers by type and field without a separator: `A.bC` and `Ab.C` would share one;
 * - jit does not wait for types that are resolved asynchronously;
 * - jit passes the variables instead of the arguments to `subscribe`. graphql-js therefore always opens the source of a subscription,
 *   and jit runs only its events.
 *
 * jit reads a field without a resolver as a property: it does not call or await the value.
 */
import { createSourceEventStream, execute, isAbstractType, isObjectType } from 'graphql'
import type { DocumentNode, GraphQLSchema } from 'graphql'
import { compileQuery, isCompiledQuery } from 'graphql-jit'
import type { ClientMemory } from '../memory/client-memory.ts'
import { compileCostMs, countNodes, entityCallsBytes, jitBytes, rootListBytes } from '../memory/estimates.ts'
import { NOTHING_HELD } from '../memory/family.ts'
import { runLists } from './entity-lists.ts'
import { compileEntityCalls } from './entity-calls.ts'
import { makeEntitySchema } from './entity-schema.ts'
import { compileRootList } from './root-list.ts'
import { makeSharedFetches, type SharedFetch } from './shared-fetches.ts'
import type { FetchOperation, FetchResult, FetchVariables, Transport } from './transport.ts'

/** A fetch is compiled after this many runs, plus one run per this many characters of its text. */
const RUNS_MIN = 2
const CHARACTERS_PER_RUN = 500

type Execute = (root: unknown, context: object, variables: FetchVariables) => FetchResult | Promise<FetchResult>

type Compiled = { readonly run: Execute; readonly release: () => void }

/** The compiled code of a fetch, and its estimated size. */
type Code = { readonly run: Execute; readonly bytes: number }

export type LocalOptions = {
  /**
   * The memory for the code of fetches that run often; graphql-js runs the others. Compilation takes most of the time and memory of
   * preparing, and varied texts mostly run once. Absent: every fetch is compiled at once.
   */
  readonly memory?: ClientMemory
}

export function localTransport(schema: GraphQLSchema, { memory }: LocalOptions = {}): Transport {
  const entities = makeEntitySchema(schema)
  const byJit = isFitForJit(schema)
  const shared = makeSharedFetches()

  function compile(operation: FetchOperation): SharedFetch {
    const { document } = operation
    const lists = entities?.rewrite(document)
    if (entities !== undefined && lists !== undefined) {
      const { run, release } = compileExecute(entities.schema, lists.document, operation.text.length)
      const whole = (variables: FetchVariables, contextValue: object) =>
        execute({ schema, document, contextValue, variableValues: variables })
      return {
        fetch: {
          run: (variables, context) =>
            runLists(
              lists.lists,
              variables,
              (root) => run(root, context, variables),
              () => whole(variables, context),
            ),
          subscribe: noSubscription,
        },
        release,
      }
    }
    const { run, release } = compileExecute(schema, document, operation.text.length)
    return {
      fetch: {
        run: (variables, context) => run(undefined, context, variables),
        subscribe:
          operation.kind === 'subscription'
            ? (variables, context) => subscribeLocal(schema, document, run, variables, context)
            : noSubscription,
      },
      release,
    }
  }

  function compileExecute(own: GraphQLSchema, document: DocumentNode, characters: number): Compiled {
    const interpret: Execute = (rootValue, contextValue, variableValues) =>
      execute({ schema: own, document, rootValue, contextValue, variableValues })
    const compileNow = (): Code => {
      const nodes = countNodes(document)
      // Documents of entity lists have a schema of their own.
      const list = own === schema ? compileRootList(schema, document) : undefined
      if (list !== undefined) return { run: list.run, bytes: rootListBytes(list.nodes) }
      const calls = own === schema ? undefined : compileEntityCalls(schema, document)
      if (calls !== undefined) return { run: calls, bytes: entityCallsBytes(nodes) }
      return { run: (byJit ? compileByJit(own, document) : undefined) ?? interpret, bytes: jitBytes(nodes) }
    }
    if (memory === undefined) return { run: compileNow().run, release() {} }
    return compileLater(characters, interpret, compileNow, memory)
  }

  return {
    remote: false,
    compile: (operation) => shared(operation.text, () => compile(operation)),
  }
}

function compileLater(characters: number, interpret: Execute, compileNow: () => Code, memory: ClientMemory): Compiled {
  let code: Code | undefined
  let holding = NOTHING_HELD
  let runs = 0
  const runsMin = RUNS_MIN + characters / CHARACTERS_PER_RUN
  const evicted = () => {
    code = undefined
    runs = 0
  }
  const run: Execute = (root, context, variables) => {
    if (code !== undefined) {
      holding.touch()
      return code.run(root, context, variables)
    }
    runs += 1
    if (runs <= runsMin) return interpret(root, context, variables)
    code = compileNow()
    holding = memory.hold('fetch', code.bytes, compileCostMs(code.bytes), evicted)
    return (code?.run ?? interpret)(root, context, variables)
  }
  return { run, release: () => holding.release() }
}

function compileByJit(schema: GraphQLSchema, document: DocumentNode): Execute | undefined {
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
    // Not an async generator: its return() would wait for the event that next() awaits, which may never come.
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
