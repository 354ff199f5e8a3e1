/**
 * One HTTP request to a subgraph, on undici's lowest level: the chunks of the answer are put together here, so that no
 * stream is made for a body of a few kilobytes.
 *
 * Two bounds hold for every call, whatever the other end does. The time counts until the answer is whole: a host that does
 * not answer, one that answers a byte a second and one that is still being connected to are the same to who waits. The
 * bytes are counted as they come, so that an endless answer costs no more memory than the longest allowed one.
 *
 * Answers must come as they are: nothing is asked to be compressed. Redirections are not followed.
 */
import type { Dispatcher } from 'undici'
import type { Clock } from '../../core/clock.ts'
import { CallFailure } from './call-failure.ts'

export type HttpCall = {
  readonly path: string
  /** Names and values in turn. */
  readonly headers: readonly string[]
  readonly body: string
  /** May it share a connection with calls whose answers are still under way? */
  readonly idempotent: boolean
}

export type HttpBounds = { readonly timeoutMs: number; readonly bytesMax: number }

/** A body as it came from the network; put together only where somebody needs it whole. */
export type Body = { readonly chunks: readonly Buffer[]; readonly length: number }

export type HttpAnswer = { readonly status: number; readonly contentType: string; readonly body: Body }

/** Rejects with a CallFailure only. */
export function post(dispatcher: Dispatcher, call: HttpCall, bounds: HttpBounds, clock: Clock): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
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
      reject(failure)
      controller?.abort(failure)
    }

    const timer = clock.after(bounds.timeoutMs, () => fail(new CallFailure('late')))
    dispatcher.dispatch(
      { method: 'POST', path: call.path, headers: call.headers as string[], body: call.body, idempotent: call.idempotent },
      {
        onRequestStart(given) {
          controller = given
          // It waited for a connection longer than it was allowed to.
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

export function bodyText({ chunks }: Body): string {
  const [first, ...rest] = chunks
  if (first === undefined) return ''
  return rest.length === 0 ? first.toString() : Buffer.concat(chunks).toString()
}
