/** The checks of a request before it is routed: its host, its origin and its declared size. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { holdBody } from '../limits/held-bytes.ts'
import type { Front } from '../request/front.ts'
import { JSON_TYPE } from './accept.ts'
import type { Cors } from './browsers/cors.ts'
import { refusal, writeAnswer } from './answers.ts'
import type { FastLane } from './fast-lane.ts'
import { hostRefused, type IsKnownHost } from './browsers/hosts.ts'
import { isLargeOrUnknown, refuseUnread } from './http.ts'
import type { InFlight } from './in-flight.ts'
import { badRequest } from './request-errors.ts'

/** `isKnownHost` absent: all hosts are answered. */
export type RequestChecks = { readonly isKnownHost: IsKnownHost | undefined; readonly cors: Cors }

/** `route`: takes the requests that the fast lane leaves. */
export function makeRequestListener(
  front: Front,
  inFlight: InFlight,
  { isKnownHost, cors }: RequestChecks,
  bodyBytesMax: number,
  fastLane: FastLane,
  route: RequestListener,
): RequestListener<typeof IncomingMessage, typeof ServerResponse<IncomingMessage>> {
  return (request, response) => {
    inFlight.track(response)
    holdBody(front.heldBytes, request, response, bodyBytesMax)
    const { host } = request.headers
    if (host === undefined && request.httpVersion === '1.1') return writeAnswer(response, NO_HOST)
    if (isKnownHost?.(host) === false) return writeAnswer(response, refusal(hostRefused(host), JSON_TYPE))
    if (cors(request, response)) return
    const read = (): void => {
      if (!fastLane(request, response)) route(request, response)
    }
    if (isLargeOrUnknown(request.headers, bodyBytesMax)) void refuseOr(request, response, read)
    else read()
  }

  async function refuseOr(request: IncomingMessage, response: ServerResponse, read: () => void): Promise<void> {
    const refused = await refuseUnread(front, request)
    if (refused === undefined) return read()
    writeAnswer(response, refused)
    // Closing would lose the answer for a client that is still sending.
    request.resume()
  }
}

const NO_HOST = badRequest(400, 'the header "host" is missing: send the name of this server')
