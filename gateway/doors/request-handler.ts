/** One request to the API: its caller is let in, and answered over HTTP or by an event stream, as the request asks. */
import type { ServerResponse } from 'node:http'
import { TidemarkError } from '../../core/errors.ts'
import { holdUnread, releaseBody } from '../limits/held-bytes.ts'
import { LARGE_BODY } from '../limits/message-intake.ts'
import { callerKey, type Caller } from '../request/caller.ts'
import type { Front } from '../request/front.ts'
import { JSON_TYPE, negotiate } from './accept.ts'
import { answerOf, refusal, requestErrors, writeAnswer, type Answer } from './answers.ts'
import { declaredBytes } from './body.ts'
import type { Compression } from './compression.ts'
import type { Http } from './http.ts'
import type { InFlight } from './in-flight.ts'
import type { HttpRequest } from './parameters.ts'
import { badRequest, type FailureOf } from './request-errors.ts'
import type { Sse } from './sse.ts'

/** Never rejects. */
export type HandleRequest = (request: HttpRequest, response: ServerResponse) => Promise<void>

export function makeRequestHandler(
  front: Front,
  http: Http,
  sse: Sse,
  compression: Compression,
  inFlight: InFlight,
  failureOf: FailureOf,
): HandleRequest {
  return async function handle(request, response) {
    try {
      if (inFlight.isDraining()) {
        response.setHeader('connection', 'close')
        return writeAnswer(response, SHUTTING_DOWN)
      }
      if (!compression.accepts(request.headers)) return writeAnswer(response, NO_ENCODING)
      const { contentType, stream, streamFirst } = negotiate(request.headers.accept)
      const singleType = streamFirst ? JSON_TYPE : contentType
      if (singleType === undefined) return writeAnswer(response, compression.compress(request.headers, NO_TYPE))
      const caller = await letIn(front, request, response, singleType)
      if ('status' in caller) return writeAnswer(response, compression.compress(request.headers, caller))
      const answer = streamFirst ? undefined : await http(request, caller, singleType)
      if (answer !== undefined && (answer.subscription === undefined || !stream)) {
        writeAnswer(response, compression.compress(request.headers, answer))
        return holdUnread(front.heldBytes, response)
      }
      const opened = await sse.open(request, caller, answer?.subscription)
      if (typeof opened !== 'function') return writeAnswer(response, opened)
      await opened(response)
    } catch (error) {
      const answer = failureOf(error)
      if (response.headersSent) response.destroy()
      else writeAnswer(response, answer)
    }
  }
}

/**
 * Finds the caller before the body is parsed. A large body waits for its turn of the event loop, so that other requests are answered in
 * between. Callers take turns. A body in chunks is charged here, when its length is known.
 */
export async function letIn(
  front: Front,
  { headers, address, body }: HttpRequest,
  response: ServerResponse,
  contentType: string,
): Promise<Caller | Answer> {
  try {
    const caller = await front.callerChecks.callerOf(headers, address)
    if ('errors' in caller) return requestErrors(caller.errors, contentType)
    if (body.length <= LARGE_BODY) {
      const refused = front.callerChecks.waiting(caller)
      return refused === undefined ? caller : requestErrors(refused.errors, contentType)
    }
    await front.bodyTurns(callerKey(caller), response)
    // The response to a pipelined request has no socket yet and reports no close.
    if (response.destroyed || response.req.socket.destroyed) return LEFT
    const refused = declaredBytes(headers) === undefined ? await front.callerChecks.chargeBody(caller, body.length) : undefined
    return refused === undefined ? caller : requestErrors(refused.errors, contentType)
  } catch (error) {
    return refusal(error, contentType)
  } finally {
    releaseBody(response)
  }
}

/** The answer to a client that has left. */
const LEFT: Answer = { status: 408, contentType: JSON_TYPE, body: '' }

const NO_TYPE = answerOf([null, { status: 406, statusText: '' }])

/** Checked before the operation runs: a client must not be left without the answer of its mutation. */
const NO_ENCODING = badRequest(406, 'no encoding of the header accept-encoding can be served: accept identity or gzip, or leave it out')

const SHUTTING_DOWN = refusal(new TidemarkError('SHUTTING_DOWN', 'this process drains: send the request again'), JSON_TYPE)
