/** The upgrades of HTTP connections to WebSockets: the checks before the handshake, and the limits of open connections. */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { handleProtocols } from 'graphql-ws'
import { WebSocketServer, type WebSocket } from 'ws'
import { TidemarkError, isTidemarkError } from '../../../core/errors.ts'
import type { OpenConnection } from '../../limits/open-limits.ts'
import type { Front } from '../../request/front.ts'
import { JSON_TYPE } from '../accept.ts'
import { endWith, refusal } from '../answers.ts'
import { badRequest } from '../request-errors.ts'
import { makeSocketClass, refuseFull, refuseHandshake } from './refusals.ts'

export type UpgradeOptions = {
  readonly path: string
  /** Bytes a message may have. */
  readonly messageBytesMax: number
  /** The total cost that the subscriptions of one socket may have. Default: unlimited. */
  readonly subscriptionsCostMax?: number | undefined
  /** The error for a page of this origin that may not connect to this host. Absent: all may. */
  readonly refusePage?: ((origin: string | undefined, host: string | undefined) => TidemarkError | undefined) | undefined
}

export function acceptUpgrades(
  server: Server,
  front: Front,
  isDraining: () => boolean,
  options: UpgradeOptions,
  accept: (socket: WebSocket, request: IncomingMessage, open: OpenConnection) => void,
): void {
  const { path, messageBytesMax, subscriptionsCostMax = Infinity, refusePage } = options
  const opened = new WeakMap<IncomingMessage, OpenConnection>()
  // The message intake answers pings, at a bounded rate.
  const upgrades = new WebSocketServer({
    ...{ noServer: true, maxPayload: messageBytesMax, handleProtocols, autoPong: false },
    // The library has checked the handshake here. An invalid one must not cut another socket to make room.
    verifyClient({ req: request }, proceed) {
      const { socket } = request
      const address = front.callerChecks.addressOf(socket.remoteAddress, request.headers)
      const open = front.openLimits.connect(address, { cut: () => socket.destroy() }, subscriptionsCostMax)
      if (isTidemarkError(open)) return refuseFull(socket, open)
      socket.once('close', () => open.close())
      opened.set(request, open)
      proceed(true)
    },
    WebSocket: makeSocketClass(messageBytesMax),
  })
  upgrades.on('wsClientError', refuseHandshake)

  server.on('upgrade', (request: IncomingMessage, duplex: Duplex, head: Buffer) => {
    duplex.on('error', () => duplex.destroy())
    if (isDraining()) return endWith(duplex, SHUTTING_DOWN)
    const asked = request.url?.split('?', 1)[0]
    if (asked !== path && asked !== `${path}/`) return endWith(duplex, badRequest(404, `there is no WebSocket here: open it at ${path}`))
    const { origin, host } = request.headers
    const refused = refusePage?.(origin, host)
    if (refused !== undefined) {
      front.log.warn({ origin, host }, `a WebSocket was refused: ${refused.message}`)
      return endWith(duplex, refusal(refused, JSON_TYPE))
    }
    upgrades.handleUpgrade(request, duplex, head, (socket, upgraded) => accept(socket, upgraded, opened.get(upgraded) as OpenConnection))
  })
}

const SHUTTING_DOWN = refusal(new TidemarkError('SHUTTING_DOWN', 'this process drains: connect again'), JSON_TYPE)
