/** Event streams, one per operation: their events, their pings and the ways in which they end. */
import type { ServerResponse } from 'node:http'
import type { ExecutionResult } from 'graphql'
import { TidemarkError } from '../../core/errors.ts'
import { countUnread, type HeldBytes } from '../limits/held-bytes.ts'
import { subscribeHeld } from '../limits/open-cost.ts'
import type { OpenConnection } from '../limits/open-limits.ts'
import type { Viewer } from '../../core/viewer.ts'
import { graphqlErrorOf } from '../request/error-format.ts'
import type { Front } from '../request/front.ts'
import { EXPIRED, whenExpired } from './expiry.ts'

/** The places that a stream holds in the limits of open connections. */
export type HeldStream = { readonly connection: OpenConnection; readonly release: () => void }

/** The result of an operation, or the results of a subscription. */
export type Results = ExecutionResult | AsyncGenerator<ExecutionResult, void, void>

export type EventStreams = {
  /** `begin`: runs the operation. Resolves when the stream has ended. */
  write(response: ServerResponse, viewer: Viewer | undefined, held: HeldStream, begin: () => Promise<Results>): Promise<void>
  /** Ends all streams, without `complete`. */
  endAll(): void
}

const COMPLETE = 'event: complete\ndata:\n\n'

export function makeEventStreams(front: Pick<Front, 'log' | 'formatError' | 'heldBytes'>, pingEveryMs: number): EventStreams {
  const { log, formatError, heldBytes } = front
  const streams = new Set<() => void>()

  return {
    async write(response, viewer, { connection, release }, begin) {
      let results: AsyncGenerator<ExecutionResult, void, void> | undefined
      let mode: 'open' | 'ended' = 'open'
      let forget = () => {}
      const ping = setInterval(() => response.write(':\n\n'), pingEveryMs)
      const end = () => {
        if (mode === 'ended') return
        mode = 'ended'
        clearInterval(ping)
        forget()
        streams.delete(end)
        connection.close()
        // Not awaited: a source may take long to stop, and the client has left.
        results?.return().catch((error: unknown) => log.warn({ err: error }, 'a subscription did not stop cleanly'))
        response.end()
      }
      streams.add(end)
      response.once('close', end)
      // The client may have left during admission; no other event reports that.
      if (response.destroyed) {
        release()
        return end()
      }
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache',
        'x-accel-buffering': 'no',
      })
      response.flushHeaders()
      try {
        const first = await subscribeHeld(begin, release)
        if (Symbol.asyncIterator in first) {
          // The client may have left while the subscription was being opened. The subscription must then be closed here.
          if (mode !== 'open') return void (await first.return())
          results = first
          forget = whenExpired(viewer, () => {
            void writeEvent(heldBytes, response, { errors: [graphqlErrorOf(new TidemarkError('TOKEN_EXPIRED', EXPIRED))] })
            response.write(COMPLETE)
            end()
          })
          for await (const result of results) await writeEvent(heldBytes, response, result)
        } else {
          await writeEvent(heldBytes, response, first)
        }
      } catch (error) {
        await writeEvent(heldBytes, response, { errors: [formatError(error, 'field')] })
      }
      if (mode === 'open') response.write(COMPLETE)
      end()
    },
    endAll() {
      for (const end of streams) end()
    },
  }
}

/** Resolves when the client has taken the event or has left. A slow reader therefore slows only its own source. */
function writeEvent(held: HeldBytes, response: ServerResponse, result: ExecutionResult): Promise<void> {
  if (response.writableEnded || response.destroyed) return Promise.resolve()
  if (response.write(`event: next\ndata: ${JSON.stringify(result)}\n\n`)) return Promise.resolve()
  const release = countUnread(held, response)
  return new Promise((resolve) => {
    const done = () => {
      release()
      response.off('drain', done)
      response.off('close', done)
      resolve()
    }
    response.on('drain', done)
    response.on('close', done)
  })
}
