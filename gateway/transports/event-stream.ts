/**
 * A subscription in a remote subgraph: GraphQL over server-sent events, one connection per subscription ("distinct connections" of the
 * graphql-sse protocol). `event: next` carries a result, and `event: complete` ends the stream. Any other end is reported as a failure.
 *
 * Events wait here until the reader asks for them. If too many wait, the socket is not read, and TCP slows the subgraph down. The time
 * between two events has no limit, because most subscriptions are silent most of the time.
 */
import { StringDecoder } from 'node:string_decoder'
import type { Dispatcher } from 'undici'
import type { Clock } from '../../core/clock.ts'
import { resultOf } from './answer.ts'
import { CallFailure } from './call-failure.ts'
import type { HttpAnswer, HttpBounds, HttpCall } from './http-call.ts'
import type { FetchResult } from './transport.ts'

/** Events that may wait before the socket is paused. */
const WAITING_MAX = 16

export type EventStream = AsyncIterator<FetchResult>

/** Resolves to the answer itself if it is not a stream. The call and `next` of the stream reject with a CallFailure. */
export function openEventStream(
  subgraph: string,
  dispatcher: Dispatcher,
  call: HttpCall,
  bounds: HttpBounds,
  clock: Clock,
): Promise<EventStream | HttpAnswer> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let answer: { status: number; contentType: string; text: string } | undefined
    let events: Events | undefined
    let failure: CallFailure | undefined
    const decoder = new StringDecoder('utf8')

    function fail(reason: CallFailure): void {
      if (failure !== undefined) return
      failure = reason
      timer.cancel()
      reject(reason)
      events?.end(reason)
      controller?.abort(reason)
    }

    // Runs until the stream is open, or until another answer is complete.
    const timer = clock.after(bounds.timeoutMs, () => fail(new CallFailure('late')))
    dispatcher.dispatch(
      { method: 'POST', path: call.path, headers: call.headers as string[], body: call.body, bodyTimeout: 0, reset: true },
      {
        onRequestStart(given) {
          controller = given
          if (failure !== undefined) given.abort(failure)
        },
        onResponseStart(given, status, headers) {
          const contentType = String(headers['content-type'] ?? '')
          if (status !== 200 || !/^text\/event-stream\b/i.test(contentType)) {
            answer = { status, contentType, text: '' }
            return
          }
          timer.cancel()
          events = makeEvents(subgraph, given, bounds.bytesMax)
          resolve(events.stream)
        },
        onResponseData(_, chunk) {
          if (failure !== undefined) return
          const text = decoder.write(chunk)
          if (events !== undefined) return events.take(text)
          if (answer === undefined) return
          answer.text += text
          if (answer.text.length > bounds.bytesMax) fail(new CallFailure('too large'))
        },
        onResponseEnd() {
          timer.cancel()
          if (answer !== undefined) resolve({ ...answer, body: bodyOf(answer.text) })
          events?.end(new CallFailure('unreachable', { cause: new Error('the stream ended without "complete"') }))
        },
        onResponseError(_, error) {
          fail(error instanceof CallFailure ? error : new CallFailure('unreachable', { cause: error }))
        },
      },
    )
  })
}

function bodyOf(text: string): HttpAnswer['body'] {
  const bytes = Buffer.from(text)
  return { chunks: [bytes], length: bytes.length }
}

type Events = {
  readonly stream: EventStream
  take(text: string): void
  /** Ends the stream after the waiting events. Without a failure it ends normally. */
  end(failure: CallFailure | undefined): void
}

function makeEvents(subgraph: string, controller: Dispatcher.DispatchController, bytesMax: number): Events {
  const waiting: FetchResult[] = []
  let asking: { resolve(step: IteratorResult<FetchResult>): void; reject(failure: CallFailure): void } | undefined
  let ended: { failure: CallFailure | undefined } | undefined
  const parse = makeEventParser(bytesMax, onEvent, () => end(new CallFailure('too large')))

  function onEvent(event: string, data: string): void {
    if (ended !== undefined) return
    if (event === 'complete') return end(undefined)
    if (event !== 'next') return
    const result = resultOf(subgraph, data)
    if (result === undefined) return end(new CallFailure('unreachable', { cause: new Error('an event was not a GraphQL result') }))
    if (asking !== undefined) {
      asking.resolve({ done: false, value: result })
      asking = undefined
    } else if (waiting.push(result) >= WAITING_MAX) controller.pause()
  }

  function end(failure: CallFailure | undefined): void {
    if (ended !== undefined) return
    ended = { failure }
    if (asking !== undefined) settle(asking)
    asking = undefined
    // One side has ended the stream. The connection has no other use.
    if (!controller.aborted) controller.abort(new CallFailure('unreachable'))
  }

  function settle({ resolve, reject }: NonNullable<typeof asking>): void {
    const { failure } = ended ?? {}
    if (ended !== undefined) ended = { failure: undefined }
    if (failure === undefined) resolve({ done: true, value: undefined })
    else reject(failure)
  }

  return {
    take: parse,
    end,
    stream: {
      next() {
        const value = waiting.shift()
        if (value !== undefined) {
          if (waiting.length === 0 && ended === undefined) controller.resume()
          return Promise.resolve({ done: false, value })
        }
        return new Promise((resolve, reject) => {
          asking = { resolve, reject }
          if (ended === undefined) return
          settle(asking)
          asking = undefined
        })
      },
      return() {
        waiting.length = 0
        end(undefined)
        return Promise.resolve({ done: true, value: undefined })
      },
    },
  }
}

/** The event stream format of the HTML standard (9.2.6), as far as this protocol uses it. */
export function makeEventParser(
  bytesMax: number,
  onEvent: (event: string, data: string) => void,
  tooLarge: () => void,
): (text: string) => void {
  /** The parts of an unfinished line. It may be long, so they are joined once. */
  let pieces: string[] = []
  let event = ''
  let data: string[] = []
  let size = 0

  function takeLine(text: string): void {
    if (text === '') {
      if (event !== '' || data.length > 0) onEvent(event === '' ? 'message' : event, data.join('\n'))
      event = ''
      data = []
      size = 0
      return
    }
    const colon = text.indexOf(':')
    const name = colon < 0 ? text : text.slice(0, colon)
    const value = colon < 0 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (name === 'event') event = value
    else if (name === 'data') data.push(value)
  }

  return (text) => {
    size += text.length
    if (size > bytesMax) return tooLarge()
    let start = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      pieces.push(text.slice(start, end))
      const line = pieces.join('')
      pieces = []
      start = end + 1
      takeLine(line.endsWith('\r') ? line.slice(0, -1) : line)
    }
    if (start < text.length) pieces.push(text.slice(start))
  }
}
