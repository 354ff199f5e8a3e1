/**
 * The access log: one line per HTTP request, when its response has ended. A line has no address, no viewer and no parameters. The metrics
 * have the operations by name.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Log } from '../request/error-format.ts'

const PATH_MAX = 200

export type AccessLog = (request: IncomingMessage, response: ServerResponse) => void

/** `nowMs`: a clock that is never set back. */
export function makeAccessLog(log: Pick<Log, 'info'>, nowMs: () => number = () => performance.now()): AccessLog {
  return (request, response) => {
    const begun = nowMs()
    const { method, url = '' } = request
    const path = (url.split('?', 1)[0] ?? '').slice(0, PATH_MAX)
    // Several requests share a connection, so the bytes of this one are a difference.
    const { socket } = request
    const written = socket.bytesWritten
    response.once('close', () => {
      const isCut = !response.writableFinished
      const ms = Math.round((nowMs() - begun) * 1_000) / 1_000
      log.info({ method, path, status: response.statusCode, ms, bytes: socket.bytesWritten - written, ...(isCut && { isCut }) }, 'request')
    })
  }
}
