/** The upgrades of HTTP connections to WebSockets: the checks that come before the protocol, and the places in the limits of open connections. */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { handleProtocols } from 'graphql-ws'
import { WebSocketServer, type WebSocket } from 'ws'
import { TidemarkError, isTidemarkError } from '../../../core/errors.ts'
import type { OpenConnection } from '../../limits/open-limits.ts'
import type { Front } from '../../request/front.ts'
import { JSON_TYPE } from '../accept.ts'
import { endWith } from '../fast-lane.ts'
import { refusal } from '../http.ts'
import { badRequest } from '../request-errors.ts'
import { makeSocketClass, refuseFull, refuseHandshake } from './refusals.ts'

export type UpgradeOptions = {
  readonly path: string
  /** Bytes a message may have. */
  readonly messageBytesMax: number
  /** What the subscriptions of one socket may cost together. Default: anything. */
  readonly subscriptionsCostMax?: number | undefined
  /** May a page of this origin connect to this host? Absent: any may. */
  readonly isAllowed?: ((origin: string | undefined, host: string | undefined) => boolean) | undefined
}

export function acceptUpgrades(
  server: Server,
  front: Front,
  isDraining: () => boolean,
  options: UpgradeOptions,
  accept: (socket: WebSocket, request: IncomingMessage, open: OpenConnection) => void,
): void {
  const { path, messageBytesMax, subscriptionsCostMax = Infinity, isAllowed } = options
  const opened = new WeakMap<IncomingMessage, OpenConnection>()
  // The intake answers pings and bounds them.
  const upgrades = new WebSocketServer({
    ...{ noServer: true, maxPayload: messageBytesMax, handleProtocols, autoPong: false },
    // The library has checked the handshake here. An invalid one must not cut another socket to make room.
    verifyClient({ req: request }, proceed) {
      const { socket } = request
      const address = front.addressOf(socket.remoteAddress, request.headers)
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
    if (isAllowed?.(origin, host) === false) {
      front.log.warn(
        { origin, host },
        'a WebSocket of a foreign page was refused: list its origin in server.cors.origins, or its host in server.hosts, to let it in',
      )
      return endWith(duplex, FOREIGN_PAGE)
    }
    upgrades.handleUpgrade(request, duplex, head, (socket, upgraded) => accept(socket, upgraded, opened.get(upgraded) as OpenConnection))
  })
}

const SHUTTING_DOWN = refusal(new TidemarkError('SHUTTING_DOWN', 'this process drains: connect again'), JSON_TYPE)
const FOREIGN_PAGE = refusal(
  new TidemarkError('FORBIDDEN', 'pages of this origin may not connect: list it in server.cors.origins, or the host in server.hosts'),
  JSON_TYPE,
)
