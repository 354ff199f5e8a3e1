/** Runs prepared operations. Each run gets its own context and is counted and traced. Its errors are formatted. */
import type { ExecutionResult } from 'graphql'
import type { Viewer } from '../../core/viewer.ts'
import type { PreparedOperation, RequestContext } from '../operation/prepared-operation.ts'
import type { Gate } from '../operation/preparing.ts'
import type { Caller } from './caller.ts'
import { withDegraded } from './degraded.ts'
import { formatResult, type FormatError } from './error-format.ts'
import { jsonResultOf, type JsonResult } from './json-result.ts'
import type { Metrics, Outcome } from './metrics.ts'
import type { OperationRequest } from './operation-request.ts'
import { isStream, subscriptionStream } from './subscription-stream.ts'
import { withPlan, type Watching } from './watching.ts'

/** Called once per operation. `lasting`: the context is for a subscription, which must not remember its reads. */
export type MakeContext = (viewer: Viewer | undefined, lasting: boolean, caller: Caller) => RequestContext

export type OperationRuns = {
  /** For queries and mutations. */
  execute(prepared: PreparedOperation, request: OperationRequest, caller: Caller): Promise<ExecutionResult>
  executeToJson(prepared: PreparedOperation, request: OperationRequest, caller: Caller): Promise<JsonResult>
  /** For subscriptions. The caller of this function must read the stream to its end or call `return()`. */
  subscribe(
    prepared: PreparedOperation,
    request: OperationRequest,
    caller: Caller,
  ): Promise<ExecutionResult | AsyncGenerator<ExecutionResult, void, void>>
}

export function makeOperationRuns(
  makeContext: MakeContext,
  gateOf: (caller: Caller) => Gate,
  watching: Watching,
  metrics: Metrics,
  formatError: FormatError,
): OperationRuns {
  function execute(prepared: PreparedOperation, request: OperationRequest, caller: Caller): Promise<ExecutionResult> {
    return run(prepared, caller, (context, gate) => prepared.execute(request.variables, context, gate))
  }

  async function executeToJson(prepared: PreparedOperation, request: OperationRequest, caller: Caller): Promise<JsonResult> {
    const { executeToJson: toJson } = prepared
    if (toJson === undefined || caller.wantsPlan) return jsonResultOf(await execute(prepared, request, caller))
    return jsonResultOf(await run(prepared, caller, (context, gate) => toJson(request.variables, context, gate)))
  }

  async function run<Result extends ExecutionResult | Buffer>(
    prepared: PreparedOperation,
    caller: Caller,
    begin: (context: RequestContext, gate: Gate) => Promise<Result>,
  ): Promise<Result | ExecutionResult> {
    const startedAt = performance.now()
    const context = makeContext(caller.viewer, false, caller)
    const span = watching.begin(prepared, caller, context)
    const result = await begin(context, gateOf(caller))
    metrics.countRequest(prepared.kind, prepared.name, Buffer.isBuffer(result) ? 'ok' : outcomeOf(result), performance.now() - startedAt)
    span.end(Buffer.isBuffer(result) ? 0 : (result.errors?.length ?? 0))
    if (Buffer.isBuffer(result)) return result
    const formatted = formatResult(result, formatError)
    metrics.countErrors(prepared.kind, formatted.errors)
    metrics.countDegraded(context.degraded)
    return withPlan(withDegraded(formatted, context), context)
  }

  return {
    execute,
    executeToJson,
    async subscribe(prepared, request, caller) {
      const startedAt = performance.now()
      const context = makeContext(caller.viewer, true, caller)
      const span = watching.begin(prepared, caller, context)
      const stream = await prepared.subscribe(request.variables, context, gateOf(caller))
      span.end(isStream(stream) ? 0 : (stream.errors?.length ?? 0))
      if (!isStream(stream)) {
        metrics.countRequest('subscription', prepared.name, outcomeOf(stream), performance.now() - startedAt)
        const refused = formatResult(stream, formatError)
        metrics.countErrors('subscription', refused.errors)
        return refused
      }
      metrics.countRequest('subscription', prepared.name, 'ok', performance.now() - startedAt)
      return subscriptionStream(stream, metrics, formatError, context)
    },
  }
}

function outcomeOf(result: ExecutionResult): Outcome {
  return result.errors === undefined ? 'ok' : 'data' in result ? 'errors' : 'refused'
}
