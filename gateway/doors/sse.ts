/**
 * Subscriptions as server-sent events, by the "distinct connections" mode of the graphql-sse protocol: one request is one operation. Every
 * result is an event `next`, and the end is an event `complete`. The client ends the stream by closing the connection. A query or a
 * mutation may come this way too, and has one `next`.
 *
 * Errors of the operation come in a `next` event, because a browser's EventSource hides the body of any answer but 200. Errors of the
 * request or its credentials are plain HTTP errors.
 *
 * Streams and WebSockets count together in the limits of open connections (limits/open-limits.ts). A stream above the limit gets HTTP 429
 * or 503.
 *
 * A stream ends with an error when its token expires. A stream that a drain ends has no `complete`: the client sees a broken connection and
 * reconnects to another process.
 */
import type { ServerResponse } from 'node:http'
import type { ExecutionResult } from 'graphql'
import { isTidemarkError, TidemarkError } from '../../core/errors.ts'
import { costOpen } from '../limits/open-cost.ts'
import type { PreparedOperation } from '../operation/prepared-operation.ts'
import type { Caller } from '../request/caller.ts'
import { graphqlErrorOf } from '../request/error-format.ts'
import type { Front } from '../request/front.ts'
import type { Refusal } from '../request/refusal.ts'
import type { OperationRequest } from '../request/operation-request.ts'
import { costOf } from '../request/preparation.ts'
import { JSON_TYPE } from './accept.ts'
import { makeEventStreams, type HeldStream, type Results } from './event-stream.ts'
import { answerOf, mutationByGet, refusal, requestErrors, sentenceOf, type Answer } from './answers.ts'
import { operationOf } from './http.ts'
import { readParameters, type HttpRequest } from './parameters.ts'

export type SseOptions = {
  /** Milliseconds between two comments on a quiet stream, which keep proxies from closing it. */
  readonly pingEveryMs: number
}

export type Sse = {
  /**
   * Resolves to an answer if the request is refused; otherwise to a function that writes the stream and resolves when the stream has ended.
   * `known`: the operation, if HTTP has read it.
   */
  open(request: HttpRequest, caller: Caller, known?: OperationRequest): Promise<Answer | ((response: ServerResponse) => Promise<void>)>
  /** Ends all streams, without `complete`. */
  endAll(): void
}

export function makeSse(front: Front, options: SseOptions): Sse {
  const streams = makeEventStreams(front, options.pingEveryMs)

  async function open(
    request: HttpRequest,
    caller: Caller,
    known?: OperationRequest,
  ): Promise<Answer | ((response: ServerResponse) => Promise<void>)> {
    const operation = known ?? (await readOperation(request))
    if ('status' in operation) return operation
    const prepared = await front.preparation.prepare(operation, caller)
    if (!('errors' in prepared) && prepared.kind === 'mutation' && request.method === 'GET') return mutationByGet(JSON_TYPE)
    const refused = 'errors' in prepared ? prepared : await front.preparation.admit(prepared, operation, caller)
    if (refused?.errors?.[0]?.extensions['code'] === 'RATE_LIMITED') return requestErrors(refused.errors, JSON_TYPE)
    const held = hold(prepared, operation, caller, request.body.length)
    if (isTidemarkError(held)) return requestErrors([graphqlErrorOf(held)], JSON_TYPE)
    const begin = () => begun(refused ?? prepared, operation, caller)
    return (response) => streams.write(response, caller.viewer, held, begin)
  }

  /** A stream is an open connection, and a subscription has a cost. The two must be taken without waiting in between. */
  function hold(
    prepared: PreparedOperation | Refusal,
    operation: OperationRequest,
    { viewer, address }: Caller,
    characters: number,
  ): HeldStream | TidemarkError {
    const isLasting = !('errors' in prepared) && prepared.kind === 'subscription'
    const cost = isLasting ? costOpen(costOf(prepared, operation), characters) : 0
    const connection = front.openLimits.connect(address, { viewer, cost })
    if (isTidemarkError(connection)) return connection
    const release = connection.take(cost)
    if (isTidemarkError(release)) connection.close()
    return isTidemarkError(release) ? release : { connection, release }
  }

  async function begun(prepared: PreparedOperation | ExecutionResult, operation: OperationRequest, caller: Caller): Promise<Results> {
    if (!('kind' in prepared)) return prepared
    return prepared.kind === 'subscription'
      ? front.operationRuns.subscribe(prepared, operation, caller)
      : front.operationRuns.execute(prepared, operation, caller)
  }

  return { open, endAll: streams.endAll }
}

async function readOperation(request: HttpRequest): Promise<OperationRequest | Answer> {
  try {
    const params = await readParameters(request)
    return 'query' in params ? operationOf(params) : answerOf(params)
  } catch (error) {
    const sentence = sentenceOf(error instanceof Error ? error.message : String(error))
    return refusal(isTidemarkError(error) ? error : new TidemarkError('BAD_REQUEST', sentence), JSON_TYPE)
  }
}
