/**
 * One HTTP request to a subgraph, on undici's lowest level. It collects the chunks of the answer itself, so that a body of a few
 * kilobytes needs no stream.
 *
 * Every call has two limits. The time limit covers the whole answer: waiting for a connection, for the first byte and for the last. The
 * byte limit applies as chunks arrive, so that an endless answer costs no more memory than the longest allowed one.
 *
 * The call asks for no compression and follows no redirects.
 */
import type { Dispatcher } from 'undici'
import type { Clock } from '../../core/clock.ts'
import { CallFailure } from './call-failure.ts'

export type HttpCall = {
  readonly path: string
  /** Names and values alternate. */
  readonly headers: readonly string[]
  readonly body: string
  /** Whether it may share a connection with calls that still wait for their answers. */
  readonly idempotent: boolean
}

export type HttpBounds = { readonly timeoutMs: number; readonly bytesMax: number }

/** A body in the chunks of the network. It is joined only if the whole is needed. */
export type Body = { readonly chunks: readonly Buffer[]; readonly length: number }

export type HttpAnswer = { readonly status: number; readonly contentType: string; readonly body: Body }

/** A failure is returned, not thrown. */
export function post(dispatcher: Dispatcher, call: HttpCall, bounds: HttpBounds, clock: Clock): Promise<HttpAnswer | CallFailure> {
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | undefined
    let settled: CallFailure | true | undefined
    let status = 0
    let contentType = ''
    let chunks: Buffer[] = []
    let length = 0

    function fail(failure: CallFailure): void {
      if (settled !== undefined) return
      settled = failure
      timer.cancel()
      chunks = []
      resolve(failure)
      controller?.abort(failure)
    }

    const timer = clock.after(bounds.timeoutMs, () => fail(new CallFailure('late')))
    dispatcher.dispatch(
      { method: 'POST', path: call.path, headers: call.headers as string[], body: call.body, idempotent: call.idempotent },
      {
        onRequestStart(given) {
          controller = given
          // It waited too long for a connection.
          if (settled !== undefined) given.abort(settled === true ? new CallFailure('late') : settled)
        },
        onResponseStart(_, statusCode, headers) {
          status = statusCode
          const { 'content-type': type, 'content-length': announced } = headers
          if (typeof type === 'string') contentType = type
          if (typeof announced === 'string' && Number(announced) > bounds.bytesMax) fail(new CallFailure('too large'))
        },
        onResponseData(_, chunk) {
          if (settled !== undefined) return
          length += chunk.length
          if (length > bounds.bytesMax) return fail(new CallFailure('too large'))
          chunks.push(chunk)
        },
        onResponseEnd() {
          if (settled !== undefined) return
          settled = true
          timer.cancel()
          resolve({ status, contentType, body: { chunks, length } })
        },
        onResponseError(_, error) {
          fail(new CallFailure((error as { code?: unknown }).code === 'UND_ERR_INVALID_ARG' ? 'refused' : 'unreachable', { cause: error }))
        },
      },
    )
  })
}

export function bodyBytes({ chunks, length }: Body): Buffer {
  const [first] = chunks
  return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks, length)
}
