/**
 * A small engine for tests of the front: a plain schema, executed by graphql-js. It caches one parse and one validation per operation, like
 * the real engine, and counts them, so that a test can check that the front does not repeat them.
 */
import {
  GraphQLError,
  execute,
  getOperationAST,
  parse,
  subscribe,
  validate,
  type DocumentNode,
  type ExecutionResult,
  type GraphQLSchema,
} from 'graphql'
import type { Engine } from '../../gateway/operation/engine.ts'
import type { PreparedOperation, RequestContext } from '../../gateway/operation/prepared-operation.ts'
import type { Judge } from '../../gateway/operation/operations.ts'

export type PlainEngine = Engine & { readonly calls: { prepared: number; parsed: number } }

type Options = {
  readonly judge?: Judge
  /** Offers `executeToJson`, as the real engine does. */
  readonly toJson?: boolean
}

export function makePlainEngine(schema: GraphQLSchema, options: Options = {}): PlainEngine {
  const calls = { prepared: 0, parsed: 0 }
  const known = new Map<string, ReturnType<Engine['prepare']>>()
  const engine: PlainEngine = {
    schema,
    calls,
    prepareFor: (_gate, query, operationName) => engine.prepare(query, operationName),
    pin: (query, operationName) => engine.prepare(query, operationName),
    prepare(query, operationName) {
      calls.prepared += 1
      const hash = `${operationName ?? ''}\n${query}`
      let prepared = known.get(hash)
      if (prepared === undefined) {
        calls.parsed += 1
        prepared = prepare(schema, query, operationName, hash, options)
        known.set(hash, prepared)
      }
      return prepared
    },
  }
  return engine
}

function prepare(
  schema: GraphQLSchema,
  query: string,
  operationName: string | undefined,
  hash: string,
  options: Options,
): ReturnType<Engine['prepare']> {
  let document: DocumentNode
  try {
    document = parse(query)
  } catch (error) {
    return { errors: [coded(error as GraphQLError, 'GRAPHQL_PARSE_FAILED')] }
  }
  const mistakes = validate(schema, document)
  if (mistakes.length > 0) return { errors: mistakes.map((error) => coded(error, 'GRAPHQL_VALIDATION_FAILED')) }
  const operation = getOperationAST(document, operationName)
  if (operation === null || operation === undefined) {
    return {
      errors: [new GraphQLError('the document has no operation of that name', { extensions: { code: 'OPERATION_RESOLUTION_FAILURE' } })],
    }
  }
  const refusals = options.judge?.(document, operationName) ?? []
  if (refusals.length > 0) return { errors: refusals }

  const prepared: PreparedOperation = {
    kind: operation.operation,
    name: operation.name?.value,
    hash,
    async execute(variableValues, contextValue) {
      return execute({ schema, document, operationName, variableValues, contextValue })
    },
    async subscribe(variableValues, contextValue) {
      const result = await subscribe({ schema, document, operationName, variableValues, contextValue })
      return result as ExecutionResult | AsyncIterableIterator<ExecutionResult>
    },
  }
  if (options.toJson !== true) return prepared
  const executeToJson = async (variables: Parameters<PreparedOperation['execute']>[0], context: RequestContext) => {
    const result = await prepared.execute(variables, context)
    return result.errors === undefined ? Buffer.from(JSON.stringify(result)) : result
  }
  return Object.assign(prepared, { executeToJson })
}

function coded(error: GraphQLError, code: string): GraphQLError {
  const { nodes = null, source = null, positions = null } = error
  return new GraphQLError(error.message, { nodes, source, positions, extensions: { code } })
}
