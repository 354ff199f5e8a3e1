/**
 * Subscriptions as server-sent events, by the "distinct connections" mode of the graphql-sse protocol: one request is one operation. Every
 * result is an event `next`, and the end is an event `complete`. The client ends the stream by closing the connection. Queries and
 * mutations may come this way too and have one `next`.
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
import type { Front, Refusal } from '../request/front.ts'
import { JSON_TYPE } from './accept.ts'
import { graphqlErrorOf } from '../request/error-format.ts'
import { EXPIRED, whenExpired } from './expiry.ts'
import { answerOf, letIn, mutationByGet, operationOf, refusal, requestErrors, sentenceOf, type Answer, type Subscription } from './http.ts'
import type { OpenConnection } from '../limits/open-limits.ts'
import { costOpen, subscribeHeld } from '../limits/open-cost.ts'
import { readParameters, type HttpRequest } from './parameters.ts'
import type { PreparedOperation } from '../operation/engine.ts'
import type { Caller } from '../request/caller.ts'
import type { OperationRequest } from '../request/operation-request.ts'

export type SseOptions = {
  /** Milliseconds between two comments on a quiet stream, which keep proxies from closing it. */
  readonly pingEveryMs: number
}

export type Sse = {
  /**
   * An answer if the request is refused; otherwise a function that writes the stream and resolves when it has ended. `known`: the
   * subscription, if HTTP has let the request in and parsed it.
   */
  open(
    request: HttpRequest,
    response: ServerResponse,
    known?: Subscription,
  ): Promise<Answer | ((response: ServerResponse) => Promise<void>)>
  /** Ends all streams, without `complete`. */
  endAll(): void
}

/** The places that a stream holds in the limits of open connections. */
type Held = { readonly connection: OpenConnection; readonly release: () => void }

const COMPLETE = 'event: complete\ndata:\n\n'

export function makeSse(front: Front, options: SseOptions): Sse {
  const streams = new Set<() => void>()

  async function open(
    request: HttpRequest,
    to: ServerResponse,
    known?: Subscription,
  ): Promise<Answer | ((response: ServerResponse) => Promise<void>)> {
    const caller = known?.caller ?? (await letIn(front, request, to, JSON_TYPE))
    if ('status' in caller) return caller
    const operation = known?.operation ?? (await readOperation(request))
    if ('status' in operation) return operation
    const prepared = await front.prepare(operation, caller)
    if (!('errors' in prepared) && prepared.kind === 'mutation' && request.method === 'GET') return mutationByGet(JSON_TYPE)
    const refused = 'errors' in prepared ? prepared : await front.admit(prepared, operation, caller)
    if (refused?.errors?.[0]?.extensions['code'] === 'RATE_LIMITED') return requestErrors(refused.errors, JSON_TYPE)
    const held = hold(prepared, operation, caller, request.body.length)
    if (isTidemarkError(held)) return requestErrors([graphqlErrorOf(held)], JSON_TYPE)
    return (response) => write(response, refused ?? prepared, operation, caller, held)
  }

  /** A stream is an open connection, and a subscription has a cost. The two must be taken without waiting in between. */
  function hold(
    prepared: PreparedOperation | Refusal,
    operation: OperationRequest,
    { viewer, address }: Caller,
    characters: number,
  ): Held | TidemarkError {
    const isLasting = !('errors' in prepared) && prepared.kind === 'subscription'
    const cost = isLasting ? costOpen(prepared.cost?.(operation.variables) ?? 1, characters) : 0
    const connection = front.openLimits.connect(address, { viewer, cost })
    if (isTidemarkError(connection)) return connection
    const release = connection.take(cost)
    if (isTidemarkError(release)) connection.close()
    return isTidemarkError(release) ? release : { connection, release }
  }

  async function write(
    response: ServerResponse,
    prepared: PreparedOperation | ExecutionResult,
    operation: OperationRequest,
    caller: Caller,
    { connection, release }: Held,
  ): Promise<void> {
    let results: AsyncGenerator<ExecutionResult, void, void> | undefined
    let mode: 'open' | 'ended' = 'open'
    let forget = () => {}
    const ping = setInterval(() => response.write(':\n\n'), options.pingEveryMs)
    const end = () => {
      if (mode === 'ended') return
      mode = 'ended'
      clearInterval(ping)
      forget()
      streams.delete(end)
      connection.close()
      // Not awaited: a source may take its time to stop, and nobody is left to hear how it went.
      results?.return().catch((error: unknown) => front.log.warn({ err: error }, 'a subscription did not stop cleanly'))
      response.end()
    }
    streams.add(end)
    response.once('close', end)
    // The client may have left during admission; no other event reports that.
    if (response.destroyed) {
      release()
      return end()
    }
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' })
    response.flushHeaders()
    try {
      const first = await subscribeHeld(() => firstResult(prepared, operation, caller), release)
      if (Symbol.asyncIterator in first) {
        results = first
        forget = whenExpired(caller.viewer, () => {
          void writeEvent(response, { errors: [graphqlErrorOf(new TidemarkError('TOKEN_EXPIRED', EXPIRED))] })
          response.write(COMPLETE)
          end()
        })
        // The client may have gone while the subscription was being opened: then nobody but us can close it.
        if (mode !== 'open') return void (await results.return())
        for await (const result of results) await writeEvent(response, result)
      } else {
        await writeEvent(response, first)
      }
    } catch (error) {
      await writeEvent(response, { errors: [front.formatError(error, 'field')] })
    }
    if (mode === 'open') response.write(COMPLETE)
    end()
  }

  async function firstResult(
    prepared: PreparedOperation | ExecutionResult,
    operation: OperationRequest,
    caller: Caller,
  ): Promise<ExecutionResult | AsyncGenerator<ExecutionResult, void, void>> {
    if (!('kind' in prepared)) return prepared
    return prepared.kind === 'subscription' ? front.subscribe(prepared, operation, caller) : front.execute(prepared, operation, caller)
  }

  return {
    open,
    endAll() {
      for (const end of streams) end()
    },
  }
}

/** Resolves when the client has taken the event, or is gone: a slow reader slows its own source, and nobody else. */
function writeEvent(response: ServerResponse, result: ExecutionResult): Promise<void> {
  if (response.writableEnded || response.destroyed) return Promise.resolve()
  if (response.write(`event: next\ndata: ${JSON.stringify(result)}\n\n`)) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done)
      response.off('close', done)
      resolve()
    }
    response.on('drain', done)
    response.on('close', done)
  })
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
