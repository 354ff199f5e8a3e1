/**
 * GraphQL over WebSocket, by the protocol graphql-transport-ws of `graphql-ws`, on the same path as HTTP. The client names the viewer once,
 * in the payload of `connection_init` (`{authorization: 'Bearer …'}`, in development also `{viewerId}`). Clients that can set headers may
 * use those of the upgrade instead. Then operations of every kind run over the open socket, each with its own context. This is the cheap
 * way for a player to send a heartbeat every few seconds.
 *
 * Refused credentials close the socket with 4403 and a reason. A token that expires closes the socket too: the protocol has no message for
 * a new token, so the client reconnects. A socket that answers no ping is terminated.
 *
 * Sockets are limited per address, per viewer and per process, and so is the cost of their subscriptions (limits/open-limits.ts). An
 * upgrade without room is answered with HTTP 429 or 503. A socket of a viewer with too many sockets is closed with 1013: clients reconnect
 * later. A subscription without room is refused with SUBSCRIPTIONS_TOO_MANY, and the open ones go on.
 *
 * The messages of a socket handled at once are bounded (limits/message-intake.ts). Heavy operations run one after the other
 * (limits/cost-queue.ts). Unread answers are buffered up to a bound; beyond it the socket is closed with 1013. Unread answers and
 * incomplete messages are also bounded per process (limits/held-bytes.ts).
 *
 * A drain closes sockets with 1001, and clients reconnect elsewhere. Queries and mutations under way are answered first. Subscriptions are
 * not completed: on `complete`, a client would not reconnect.
 */
import type { IncomingMessage, Server } from 'node:http'
import { makeServer } from 'graphql-ws'
import type { WebSocket } from 'ws'
import type { Credentials } from '../../identity/identify.ts'
import { makeCostQueue } from '../../limits/cost-queue.ts'
import { holdSocket } from '../../limits/held-bytes.ts'
import type { OpenConnection } from '../../limits/open-limits.ts'
import type { Engine } from '../../operation/engine.ts'
import type { Front } from '../../request/front.ts'
import { authenticate } from './authentication.ts'
import { keepAlive, receiveMessages, sendMessage } from './messages.ts'
import { makeOperationHooks } from './operations.ts'
import { withAdvice } from './refusals.ts'
import { makeSockets, NOBODY, type ClientSocket, type Sockets } from './sockets.ts'
import { acceptUpgrades, type UpgradeOptions } from './upgrades.ts'

export type WebSocketOptions = UpgradeOptions & {
  /** Milliseconds between pings. A socket that has not answered a ping when the next one is due is terminated. */
  readonly pingEveryMs: number
  /** Milliseconds that a client may take to send connection_init. Default 3000. */
  readonly initMaxMs?: number
  /** The total cost of queries and mutations under way on one socket; a single operation may cost anything. Default: unlimited. */
  readonly underWayCostMax?: number | undefined
}

export type WebSockets = Pick<Sockets, 'drain' | 'terminate'>

const INIT_MAX_MS = 3_000

export function serveWebSockets(server: Server, engine: Pick<Engine, 'schema'>, front: Front, options: WebSocketOptions): WebSockets {
  const { underWayCostMax = Infinity } = options
  const sockets = makeSockets()
  const protocol = makeServer<Credentials | undefined, ClientSocket>({
    // Read each time, because a reload replaces the schema.
    schema: () => engine.schema,
    connectionInitWaitTimeout: options.initMaxMs ?? INIT_MAX_MS,
    onConnect: ({ extra, connectionParams }) => authenticate(front, extra, connectionParams ?? {}),
    ...makeOperationHooks(engine, front, sockets),
  })
  acceptUpgrades(server, front, sockets.isDraining, options, accept)

  function accept(socket: WebSocket, request: IncomingMessage, open: OpenConnection): void {
    const extra: ClientSocket = {
      socket,
      upgrade: request,
      caller: NOBODY,
      pending: new Set(),
      open,
      messageLength: 0,
      streams: 0,
      underWay: makeCostQueue(underWayCostMax),
      intake: undefined,
      held: holdSocket(front.heldBytes, socket, request.socket),
      forget() {},
    }
    sockets.add(extra)
    front.metrics.socketOpened()
    const stopPings = keepAlive(socket, options.pingEveryMs)
    // The client has sent an oversized or malformed frame. `ws` closes the socket itself.
    socket.on('error', (error) => front.log.debug({ err: error }, 'a WebSocket failed'))
    const closed = protocol.opened(
      {
        protocol: socket.protocol,
        send: (message) => sendMessage(extra, message),
        close: (code, reason) => socket.close(code, withAdvice(code, reason)),
        onMessage: (receive) => {
          extra.intake = receiveMessages(front, extra, receive)
        },
      },
      extra,
    )
    socket.once('close', (code, reason) => {
      stopPings()
      extra.intake?.close()
      extra.forget()
      extra.held.close()
      sockets.delete(extra)
      front.metrics.socketClosed()
      closed(code, String(reason)).catch((error: unknown) => front.log.warn({ err: error }, 'a subscription did not stop cleanly'))
    })
  }

  return sockets
}
