/** One request to the API, answered over HTTP or as an event stream. */
import type { ServerResponse } from 'node:http'
import { TidemarkError } from '../../core/errors.ts'
import { JSON_TYPE, negotiate } from './accept.ts'
import { refusal, writeAnswer, type Answer } from './answers.ts'
import type { Compression } from './compression.ts'
import type { InFlight } from './in-flight.ts'
import type { HttpRequest } from './parameters.ts'
import { badRequest, type FailureOf } from './request-errors.ts'
import type { Sse } from './sse.ts'

/** Answers over HTTP or as an event stream, as the request asks. Never rejects. */
export type HandleRequest = (request: HttpRequest, response: ServerResponse) => Promise<void>

export function makeRequestHandler(
  http: (request: HttpRequest, response: ServerResponse) => Promise<Answer>,
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
      const wanted = negotiate(request.headers.accept)
      const answer = wanted.streamFirst ? undefined : await http(request, response)
      if (answer !== undefined && (answer.subscription === undefined || !wanted.stream))
        return writeAnswer(response, compression.compress(request.headers, answer))
      const opened = await sse.open(request, response, answer?.subscription)
      if (typeof opened !== 'function') return writeAnswer(response, opened)
      await opened(response)
    } catch (error) {
      const answer = failureOf(error)
      if (response.headersSent) response.destroy()
      else writeAnswer(response, answer)
    }
  }
}

/** Checked before the operation runs: a client must not be left without the answer of its mutation. */
const NO_ENCODING = badRequest(406, 'no encoding of the header accept-encoding can be served: accept identity or gzip, or leave it out')

const SHUTTING_DOWN = refusal(new TidemarkError('SHUTTING_DOWN', 'this process drains: send the request again'), JSON_TYPE)
