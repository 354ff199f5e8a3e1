/** The authentication of a WebSocket by `connection_init`: the viewer, the limits of open connections and the expiry of the token. */
import { CloseCode } from 'graphql-ws'
import { isTidemarkError } from '../../../core/errors.ts'
import { credentialsOf, type Credentials } from '../../identity/identify.ts'
import type { Front } from '../../request/front.ts'
import { EXPIRED, whenExpired } from '../expiry.ts'
import { reasonOf } from './refusals.ts'
import type { ClientSocket } from './sockets.ts'
import type { IncomingMessage } from 'node:http'

/** The close code on which clients connect again later. */
export const TRY_AGAIN_LATER = 1013

/** Returns true if the client is let in. Otherwise the socket is closed with a reason. */
export async function authenticate(front: Front, extra: ClientSocket, params: Credentials): Promise<boolean> {
  try {
    const { headers, socket } = extra.upgrade as IncomingMessage
    extra.upgrade = undefined
    const credentials = credentialsOf(params, headers)
    extra.open.verify()
    const caller = await front.callerChecks.callerOf(credentials, socket.remoteAddress, headers)
    if ('errors' in caller) return refuse(extra, CloseCode.Forbidden, `RATE_LIMITED: ${caller.errors[0]?.message ?? ''}`)
    const full = extra.open.identify(caller.viewer)
    if (full !== undefined) return refuse(extra, TRY_AGAIN_LATER, `${full.code}: ${full.message}`)
    extra.caller = caller
    extra.forget = whenExpired(extra.caller.viewer, () => void refuse(extra, CloseCode.Forbidden, `TOKEN_EXPIRED: ${EXPIRED}`))
    if (extra.socket.readyState !== extra.socket.OPEN) extra.forget()
    return true
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    return refuse(extra, CloseCode.Forbidden, `${error.code}: ${error.message}`)
  }
}

function refuse({ socket }: ClientSocket, code: number, reason: string): false {
  socket.close(code, reasonOf(reason))
  return false
}
