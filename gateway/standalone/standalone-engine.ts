/**
 * Serves one subgraph as an engine, so that the gateway's front can serve it with the same transports, limits and errors, in the same
 * order. It plans nothing. It parses the text (operations.ts: tokens, size, introspection, validation), checks cost and representations,
 * and calls `execute`.
 */
import { GraphQLError, Kind, type DocumentNode, type ExecutionResult, type GraphQLSchema } from 'graphql'
import { readCostRules } from '../limits/cost-rules.ts'
import { compileError, codedError, readOperation, type ReadOperation, type ReadOptions } from '../operation/operations.ts'
import { compileCost } from '../limits/operation-cost.ts'
import { compileCoercion, type PreparedOperation, type RequestContext, type Variables } from '../operation/prepared-operation.ts'
import { compileRepresentations } from '../limits/representations.ts'
import type { Engine } from '../operation/engine.ts'
import type { Prepared } from '../operation/prepared-operation.ts'
import { operationKey } from '../operation/operation-cache.ts'
import { makeClientMemory, type ClientMemory, type Holding } from '../memory/client-memory.ts'
import { compileCostMs, operationBytes } from '../memory/estimates.ts'
import { NOTHING_HELD } from '../memory/family.ts'
import { makePreparing, runNow, type Gate, type Work } from '../operation/preparing.ts'

/** `document` has one validated operation. `cost` is its cost with these variables. The result has the errors as they were thrown. */
export type Execute = (document: DocumentNode, variables: Variables, context: RequestContext, cost: number) => Promise<ExecutionResult>

export type StandaloneEngineOptions = ReadOptions & {
  /** The subgraph's SDL, for @cost and @listSize. */
  readonly sdl: string
  readonly listSizeAssumed: number
  /** The memory for values that clients cause. Default: a separate memory of the default size. */
  readonly memory?: ClientMemory
}

export function makeStandaloneEngine(schema: GraphQLSchema, execute: Execute, options: StandaloneEngineOptions): Engine {
  const costRules = readCostRules(options.sdl, options.listSizeAssumed)
  const memory = options.memory ?? makeClientMemory()
  const operations = new Map<string, { prepared: PreparedOperation; holding: Holding }>()
  const preparing = makePreparing()

  function find(key: string): PreparedOperation | undefined {
    const known = operations.get(key)
    known?.holding.touch()
    return known?.prepared
  }

  function* read(key: string, text: string, operationName: string | undefined): Work<Prepared> {
    try {
      const known = yield* readOperation(schema, text, operationName, options)
      if ('errors' in known) return known
      if (known.operation.operation === 'subscription') return { errors: [codedError('SUBSCRIPTIONS_NOT_SERVED', NO_SUBSCRIPTIONS)] }
      yield
      const prepared = compile(known)
      keep(key, prepared, operationBytes(text, known.nodes))
      return prepared
    } catch (error) {
      return { errors: [compileError(error)] }
    }
  }

  function keep(key: string, prepared: PreparedOperation, bytes: number): void {
    const kept = { prepared, holding: NOTHING_HELD }
    operations.get(key)?.holding.release()
    operations.set(key, kept)
    kept.holding = memory.hold('operation', bytes, compileCostMs(bytes), () => {
      if (operations.get(key) === kept) operations.delete(key)
    })
  }

  function prepareFor(gate: Gate, text: string, operationName?: string): Prepared | Promise<Prepared> {
    const key = operationKey(text, operationName)
    const known = find(key)
    if (known !== undefined) return known
    try {
      return preparing.run(text.length, gate, () => read(key, text, operationName))
    } catch (error) {
      if (error instanceof GraphQLError) return { errors: [error] }
      throw error
    }
  }

  function prepare(text: string, operationName?: string): Prepared {
    const key = operationKey(text, operationName)
    return find(key) ?? runNow(read(key, text, operationName))
  }

  function compile(read: ReadOperation): PreparedOperation {
    const { operation, fragments, hash } = read
    const coerce = compileCoercion(schema, read)
    const check = compileRepresentations(schema, read)
    const cost = compileCost(schema, operation, fragments, costRules)
    const document: DocumentNode = { kind: Kind.DOCUMENT, definitions: [operation, ...fragments.values()] }
    return {
      kind: operation.operation,
      name: operation.name?.value,
      hash,
      cost,
      async execute(variables, context) {
        const coerced = coerce(variables)
        if ('errors' in coerced) return coerced
        const mistake = check?.(coerced.variables)
        if (mistake !== undefined) return { errors: [mistake] }
        return execute(document, variables, context, cost(variables))
      },
      subscribe: () => Promise.resolve({ errors: [codedError('SUBSCRIPTIONS_NOT_SERVED', NO_SUBSCRIPTIONS)] }),
    }
  }

  return { schema, prepare, prepareFor, pin: prepare }
}

/** A gateway passes this sentence on to its clients. */
const NO_SUBSCRIPTIONS =
  "this subgraph runs alone and serves no subscriptions: repeat a query instead, or run the subgraph in the gateway's process"
