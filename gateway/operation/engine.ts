/**
 * The engine answers operations from a supergraph and transports to its subgraphs. `prepare` does all work that depends only on the
 * text of an operation (parse, validate, judge, plan, compile) and keeps the result. A request only runs it.
 *
 *   compiler.ts           text → prepared operation, by the files below
 *   operation-cache.ts    the prepared operations
 *   operations.ts         text → a valid operation; finite-numbers.ts adds a rule
 *   conditions.ts         @skip and @include decided; one variant per combination that occurs
 *   plan-document.ts      the part of the operation that the planner sees
 *   planner-text.ts       documents as texts that the planner reads correctly
 *   planner.ts            operation → plan
 *   executor.ts           plan → steps → data; uses entities, representations, flatten, merge and rewrites
 *   authorization/        the part of the operation that the viewer may see; one form per set of grants
 *   preparing.ts          all of the above in steps, charged to the caller
 *   memory/               the memory budget and eviction
 *   shape.ts              the fields of the answer, in order
 *   escaped.ts            data of remote subgraphs, not decoded
 *   projection.ts         data → answer, the fast way; projection-slow.ts handles nulls and errors
 */
import { GraphQLError } from 'graphql'
import type { GraphQLSchema } from 'graphql'
import { isPromise } from '../execution/run.ts'
import { makeClientMemory, type ClientMemory } from '../memory/client-memory.ts'
import { makeFamily, makePinnedFamily, NOTHING_HELD } from '../memory/family.ts'
import { makeCompiler, type CompilerOptions, type Subgraph } from './compiler.ts'
import { makeOperationCache, operationKey } from './operation-cache.ts'
import type { Prepared, PreparedOperation } from './prepared-operation.ts'
import { makePreparing, runNow, type Gate, type Work } from './preparing.ts'

export type EngineOptions = CompilerOptions & {
  /** The memory for values that clients cause. Default: a separate memory of the default size. */
  memory?: ClientMemory
  /** Wraps each prepared operation, once; see generation.ts. */
  decorate?: (prepared: PreparedOperation, query: string, operationName: string | undefined) => PreparedOperation
}

export type Engine = {
  /** The API schema that clients see (introspection, validation). */
  readonly schema: GraphQLSchema
  /** Parse, validate, judge, plan, compile; cached by text and operation name. It returns errors and never throws. */
  prepare(query: string, operationName?: string): Prepared
  /**
   * Prepares an operation for a client. It asks the gate before work that takes time. For a long text it returns a promise, and the
   * work yields to the event loop between steps. A variant of an operation with guarded fields is compiled when it first runs.
   */
  prepareFor(gate: Gate, query: string, operationName?: string): Prepared | Promise<Prepared>
  /** Prepares an operation for the operator. It is never evicted and does not count in the memory of clients. The caller keeps it. */
  pin(query: string, operationName?: string): Prepared
}

export type ClosableEngine = Engine & {
  /** Drops all prepared operations and keeps no new ones. A subscription that outlives the engine then does not hold them in memory. */
  forget(): void
}

/** Throws CONFIG_INVALID if the supergraph cannot be read, or if `subgraphs` lacks one of its subgraphs. */
export function makeEngine(supergraphSdl: string, subgraphs: readonly Subgraph[], options: EngineOptions): ClosableEngine {
  const { memory, close } = closableMemory(options.memory ?? makeClientMemory())
  const preparing = makePreparing()
  const compiler = makeCompiler(supergraphSdl, subgraphs, preparing, options)
  const operations = makeOperationCache(memory)
  const underWay = new Map<string, Promise<Prepared>>()

  function decorated(operation: PreparedOperation, query: string, operationName: string | undefined): PreparedOperation {
    return options.decorate?.(operation, query, operationName) ?? operation
  }

  function* compileKept(key: string, query: string, operationName: string | undefined, eager: boolean): Work<Prepared> {
    const family = makeFamily(memory)
    const made = yield* compiler.compile(query, operationName, family, eager)
    // Another call may have prepared the same operation between two steps.
    const known = operations.find(key)
    if ('errors' in made || known !== undefined) {
      family.release()
      return known ?? made
    }
    const operation = decorated(made, query, operationName)
    operations.keep(key, operation, made.bytes ?? 0, family)
    return operation
  }

  function prepareFor(gate: Gate, query: string, operationName?: string): Prepared | Promise<Prepared> {
    const key = operationKey(query, operationName)
    const known = operations.find(key) ?? underWay.get(key)
    if (known !== undefined) return known
    try {
      const made = preparing.run(query.length, gate, () => compileKept(key, query, operationName, false))
      if (!isPromise(made)) return made
      const settled = made.finally(() => underWay.delete(key))
      underWay.set(key, settled)
      return settled
    } catch (error) {
      if (error instanceof GraphQLError) return { errors: [error] }
      throw error
    }
  }

  return {
    schema: compiler.schema,
    prepareFor,
    prepare(query, operationName) {
      const key = operationKey(query, operationName)
      return operations.find(key) ?? runNow(compileKept(key, query, operationName, true))
    },
    pin(query, operationName) {
      const family = makePinnedFamily(memory)
      const made = runNow(compiler.compile(query, operationName, family, true))
      if ('errors' in made) return made
      const operation = decorated(made, query, operationName)
      memory.pin(operation, (made.bytes ?? 0) + family.seal())
      return operation
    },
    forget() {
      close()
      operations.clear()
    },
  }
}

/** The same memory. After `close` it evicts every new value at once. */
function closableMemory(shared: ClientMemory): { readonly memory: ClientMemory; close(): void } {
  let isClosed = false
  const memory: ClientMemory = {
    ...shared,
    hold(kind, bytes, costMs, evicted) {
      if (!isClosed) return shared.hold(kind, bytes, costMs, evicted)
      evicted()
      return NOTHING_HELD
    },
  }
  return { memory, close: () => void (isClosed = true) }
}
