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

export type HttpCall = {
  readonly path: string
  /** Names and values in turn. */
  readonly headers: readonly string[]
  readonly body: string
  /** May it share a connection with calls whose answers are still under way? */
  readonly idempotent: boolean
}

export type HttpBounds = { readonly timeoutMs: number; readonly bytesMax: number }

export type HttpAnswer = { readonly status: number; readonly contentType: string; readonly text: string }

/**
 * `unreachable`: no connection, or it broke; the only one that is worth another try. `refused`: the call itself is wrong.
 * `down`: it was not made, see caller.ts.
 */
export type CallFailureReason = 'unreachable' | 'late' | 'too large' | 'refused' | 'down'

export class CallFailure extends Error {
  readonly reason: CallFailureReason
  constructor(reason: CallFailureReason, options?: { cause?: unknown }) {
    super(reason, options)
    this.reason = reason
  }
}

/** Rejects with a CallFailure only. */
export function post(dispatcher: Dispatcher, call: HttpCall, bounds: HttpBounds, clock: Clock): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let settled: CallFailure | true | undefined
    let status = 0
    let contentType = ''
    let first: Buffer | undefined
    let rest: Buffer[] | undefined
    let bytes = 0

    function fail(failure: CallFailure): void {
      if (settled !== undefined) return
      settled = failure
      timer.cancel()
      first = rest = undefined
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
          const { 'content-type': type, 'content-length': length } = headers
          if (typeof type === 'string') contentType = type
          if (typeof length === 'string' && Number(length) > bounds.bytesMax) fail(new CallFailure('too large'))
        },
        onResponseData(_, chunk) {
          if (settled !== undefined) return
          bytes += chunk.length
          if (bytes > bounds.bytesMax) return fail(new CallFailure('too large'))
          if (first === undefined) first = chunk
          else (rest ??= []).push(chunk)
        },
        onResponseEnd() {
          if (settled !== undefined) return
          settled = true
          timer.cancel()
          resolve({ status, contentType, text: textOf(first, rest) })
        },
        onResponseError(_, error) {
          fail(new CallFailure((error as { code?: unknown }).code === 'UND_ERR_INVALID_ARG' ? 'refused' : 'unreachable', { cause: error }))
        },
      },
    )
  })
}

function textOf(first: Buffer | undefined, rest: readonly Buffer[] | undefined): string {
  if (first === undefined) return ''
  return rest === undefined ? first.toString() : Buffer.concat([first, ...rest]).toString()
}
