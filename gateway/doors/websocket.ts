/**
 * GraphQL over WebSocket, by the protocol graphql-transport-ws of `graphql-ws`, on the same path as HTTP. The client names the viewer once,
 * in the payload of `connection_init` (`{authorization: 'Bearer …'}`, in development also `{viewerId}`). Clients that can set headers may
 * use those of the upgrade instead. Then operations of every kind run over the open socket, each with a context of its own. This is the
 * cheap way for a player to send a heartbeat every few seconds.
 *
 * Refused credentials close the socket with 4403 and a reason. A token that expires closes the socket too: the protocol has no message for
 * a new token, so the client reconnects. A socket that answers no ping is terminated.
 *
 * Sockets are limited per address, per viewer and per process, and so is the cost of their subscriptions (limits/open-limits.ts). An
 * upgrade without room is answered with HTTP 429 or 503. A socket of a viewer with too many sockets is closed with 1013: clients reconnect
 * later. A subscription without room is refused with SUBSCRIPTIONS_TOO_MANY, and the open ones go on.
 *
 * The messages of a socket handled at once are bounded (limits/message-intake.ts). Heavy operations run one after the other
 * (limits/cost-queue.ts). Unread answers are buffered up to a bound; beyond it the socket is closed with 1013. Together with messages
 * that are not whole they are bounded per process (limits/held-bytes.ts).
 *
 * A drain closes sockets with 1001, and clients reconnect elsewhere. Queries and mutations under way are answered first. Subscriptions are
 * not completed, because a client would take `complete` for the end and not return.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { parse, type DocumentNode, type ExecutionArgs } from 'graphql'
import { CloseCode, handleProtocols, makeServer } from 'graphql-ws'
import { WebSocketServer, type RawData, type WebSocket } from 'ws'
import { systemClock } from '../../core/clock.ts'
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { JSON_TYPE } from './accept.ts'
import { shapeMistake } from './body.ts'
import type { Engine, PreparedOperation } from '../operation/engine.ts'
import { graphqlErrorOf } from '../request/error-format.ts'
import type { Front } from '../request/front.ts'
import { callerKey, type Caller } from '../request/caller.ts'
import { EXPIRED, whenExpired } from './expiry.ts'
import { endWith } from './fast-lane.ts'
import { refusal } from './http.ts'
import { makeCostQueue, type CostQueue } from '../limits/cost-queue.ts'
import { holdSocket, type HeldSocket } from '../limits/held-bytes.ts'
import { takeMessages, type MessageIntake } from '../limits/message-intake.ts'
import type { OpenConnection } from '../limits/open-limits.ts'
import { once } from '../../core/once.ts'
import { costOpen, subscribeHeld, whenEnded } from './open-cost.ts'
import { badRequest } from './request-errors.ts'
import { operationOfMessage, withText } from './parameters.ts'
import { credentialsOf, type Credentials } from '../identity/viewer.ts'
import { makeSocketClass, reasonOf, refuseFull, refuseHandshake } from './websocket-refusals.ts'
import type { OperationRequest } from '../request/operation-request.ts'

export type WebSocketOptions = {
  readonly path: string
  /** Bytes a message may have. */
  readonly messageBytesMax: number
  /** Milliseconds between pings; a socket that has not answered one when the next is due is dead. */
  readonly pingEveryMs: number
  /** Milliseconds a client may take to send connection_init. Default 3000. */
  readonly initMaxMs?: number
  /** What the subscriptions of one socket may cost together. Default: anything. */
  readonly subscriptionsCostMax?: number | undefined
  /** The total cost of queries and mutations under way on one socket; a single operation may cost anything. Default: unlimited. */
  readonly underWayCostMax?: number | undefined
  /** May a page of this origin connect to this host? Absent: any may. */
  readonly isAllowed?: ((origin: string | undefined, host: string | undefined) => boolean) | undefined
}

export type WebSockets = {
  /** Closes all sockets once their queries and mutations are answered. Resolves when all are closed. */
  drain(): Promise<void>
  /** Cuts what is left. */
  terminate(): void
}

/** Operations one socket may have open at a time. Far more than any client needs; less than a flood. */
const OPERATIONS_MAX = 1_000
const INIT_MAX_MS = 3_000
/** Bytes of answers that may wait for a client to read them. */
const UNREAD_BYTES_MAX = 16_777_216
/** Characters of the first message, which is kept as long as the socket: as many as Node lets headers have. */
const INIT_LENGTH_MAX = 16_384
const NOBODY: Caller = { viewer: undefined, client: undefined, address: undefined }
/** The close code on which clients connect again later. */
const TRY_AGAIN_LATER = 1013

type Socket = {
  readonly socket: WebSocket
  /** Its headers may name the viewer. Undefined once the viewer is known: it is as large as the socket. */
  upgrade: IncomingMessage | undefined
  caller: Caller
  readonly pending: Set<string>
  readonly open: OpenConnection
  /** Characters of the message that is being handed to the protocol. */
  messageLength: number
  /** Open subscriptions: they are not work under way. */
  streams: number
  readonly underWay: CostQueue
  intake: MessageIntake | undefined
  readonly held: HeldSocket
  /** Stops waiting for the token to expire. */
  forget(): void
}
type Run = {
  readonly prepared: PreparedOperation
  readonly operation: OperationRequest
  readonly caller: Caller
  readonly socket: Socket
  /** Releases the cost of its subscription, or its turn. */
  readonly release: () => void
}

export function serveWebSockets(server: Server, engine: Pick<Engine, 'schema'>, front: Front, options: WebSocketOptions): WebSockets {
  const sockets = new Set<Socket>()
  const { subscriptionsCostMax = Infinity, underWayCostMax = Infinity } = options
  let draining = false
  const opened = new WeakMap<IncomingMessage, OpenConnection>()
  // The intake answers pings and bounds them.
  const upgrades = new WebSocketServer({
    ...{ noServer: true, maxPayload: options.messageBytesMax, handleProtocols, autoPong: false },
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
    WebSocket: makeSocketClass(options.messageBytesMax),
  })
  upgrades.on('wsClientError', refuseHandshake)

  const protocol = makeServer<Credentials | undefined, Socket>({
    // Asked for each time: a reload puts another in its place.
    schema: () => engine.schema,
    connectionInitWaitTimeout: options.initMaxMs ?? INIT_MAX_MS,
    async onConnect(connection) {
      const { extra } = connection
      const params: Credentials = connection.connectionParams ?? {}
      try {
        const { headers, socket } = extra.upgrade as IncomingMessage
        extra.upgrade = undefined
        const credentials = credentialsOf(params, headers)
        extra.open.verify()
        const caller = await front.callerOf(credentials, socket.remoteAddress, headers)
        if ('errors' in caller) {
          extra.socket.close(CloseCode.Forbidden, reasonOf(`RATE_LIMITED: ${caller.errors[0]?.message ?? ''}`))
          return false
        }
        const full = extra.open.identify(caller.viewer)
        if (full !== undefined) {
          extra.socket.close(TRY_AGAIN_LATER, reasonOf(`${full.code}: ${full.message}`))
          return false
        }
        extra.caller = caller
        extra.forget = whenExpired(extra.caller.viewer, () =>
          extra.socket.close(CloseCode.Forbidden, reasonOf(`TOKEN_EXPIRED: ${EXPIRED}`)),
        )
        if (extra.socket.readyState !== extra.socket.OPEN) extra.forget()
        return true
      } catch (error) {
        if (!isTidemarkError(error)) throw error
        extra.socket.close(CloseCode.Forbidden, reasonOf(`${error.code}: ${error.message}`))
        return false
      }
    },
    async onSubscribe(connection, id, payload) {
      // Read before anything is awaited: the next message sets it anew.
      const { messageLength } = connection.extra
      if (draining)
        return [graphqlErrorOf(new TidemarkError('SHUTTING_DOWN', 'this process drains: connect again and repeat the operation'))]
      if (Object.keys(connection.subscriptions).length > OPERATIONS_MAX) {
        return [
          graphqlErrorOf(
            new TidemarkError('BAD_REQUEST', `more than ${OPERATIONS_MAX} operations are open on this socket: complete some first`),
          ),
        ]
      }
      const operation = operationOfMessage(payload)
      if (isTidemarkError(operation)) return [graphqlErrorOf(operation)]
      const prepared = await front.prepare(operation, connection.extra.caller)
      if ('errors' in prepared) return prepared.errors
      const { extra } = connection
      const cost = prepared.cost?.(operation.variables) ?? 1
      const start = (release: () => void) => {
        // The client may have completed the operation in the meantime.
        if (prepared.kind !== 'subscription' && id in connection.subscriptions) extra.pending.add(id)
        const run: Run = { prepared, operation, caller: extra.caller, socket: extra, release }
        return { schema: engine.schema, document: DOCUMENTS[prepared.kind], contextValue: run }
      }
      const admitted = (release: () => void) => {
        const admission = front.admit(prepared, operation, extra.caller)
        if (admission === undefined) return start(release)
        return admission.then((refused) => {
          if (refused === undefined) return start(release)
          release()
          return refused.errors
        })
      }
      if (prepared.kind !== 'subscription') {
        const turn = extra.underWay.enter(cost)
        if (typeof turn === 'function') return admitted(turn)
        return turn.then((release) => {
          if (id in connection.subscriptions) return admitted(release)
          release()
          // The client has left or completed the operation, so it receives nothing.
          return [graphqlErrorOf(new TidemarkError('BAD_REQUEST', 'the operation was completed before its turn'))]
        })
      }
      const release = extra.open.take(costOpen(cost, messageLength))
      return isTidemarkError(release) ? [graphqlErrorOf(release)] : admitted(release)
    },
    async execute(args) {
      const { prepared, operation, caller, release } = runOf(args)
      try {
        return await front.execute(prepared, operation, caller)
      } finally {
        release()
      }
    },
    async subscribe(args) {
      const { prepared, operation, caller, socket, release } = runOf(args)
      const opened = await subscribeHeld(() => front.subscribe(prepared, operation, caller), release)
      if (!(Symbol.asyncIterator in opened)) return opened
      socket.streams += 1
      socket.intake?.proceed()
      return whenEnded(
        opened,
        once(() => (socket.streams -= 1)),
      )
    },
    onError: (_connection, _id, _payload, errors) => errors.map((error) => front.formatError(error, 'request').toJSON()),
    onComplete(connection, id) {
      connection.extra.pending.delete(id)
      // The library sends the last message right after this hook; the close frame goes behind it.
      if (draining) setImmediate(() => closeIfIdle(connection.extra))
    },
  })

  server.on('upgrade', upgrade)
  function upgrade(request: IncomingMessage, duplex: Duplex, head: Buffer): void {
    duplex.on('error', () => duplex.destroy())
    if (draining) return endWith(duplex, SHUTTING_DOWN)
    const path = request.url?.split('?', 1)[0]
    if (path !== options.path && path !== `${options.path}/`)
      return endWith(duplex, badRequest(404, `there is no WebSocket here: open it at ${options.path}`))
    const { origin, host } = request.headers
    if (options.isAllowed?.(origin, host) === false) {
      front.log.warn(
        { origin, host },
        'a WebSocket of a foreign page was refused: list its origin in server.cors.origins, or its host in server.hosts, to let it in',
      )
      return endWith(duplex, FOREIGN_PAGE)
    }
    upgrades.handleUpgrade(request, duplex, head, (socket, upgraded) => accept(socket, upgraded, opened.get(upgraded) as OpenConnection))
  }

  function accept(socket: WebSocket, request: IncomingMessage, open: OpenConnection): void {
    const extra: Socket = {
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
    // What breaks here was sent by the client (an oversized or malformed frame); `ws` closes the socket itself.
    socket.on('error', (error) => front.log.debug({ err: error }, 'a WebSocket failed'))
    const closed = protocol.opened(
      {
        protocol: socket.protocol,
        send: (message) => send(extra, message),
        close: (code, reason) => socket.close(code, reason),
        onMessage: (receive) => {
          const handle = (data: RawData): Promise<void> => {
            const message = textOf(data)
            extra.messageLength = message.length
            if (extra.caller === NOBODY && message.length > INIT_LENGTH_MAX) {
              socket.close(CloseCode.BadRequest, `the first message may have ${INIT_LENGTH_MAX} characters`)
              return Promise.resolve()
            }
            return receive(withText(message)).catch((error: unknown) => {
              if (isForbiddenMessage(error)) return socket.close(CloseCode.BadRequest, 'Invalid message received')
              front.log.error({ err: error }, 'a WebSocket message could not be handled')
              socket.close(CloseCode.InternalServerError, 'internal error')
            })
          }
          const nextTurn = (bytes: number) => extra.held.waiting(bytes, front.bodyTurns(callerKey(extra.caller), socket))
          extra.intake = takeMessages(socket, systemClock, handle, () => extra.streams, nextTurn)
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

  /** Resolves when the message is handed to the network, so that a slow reader slows its own source. */
  function send(extra: Socket, message: string): Promise<void> {
    const { socket } = extra
    return new Promise((resolve) => {
      // An error here means that the socket is closing; its `close` event handles the rest.
      if (socket.readyState !== socket.OPEN) return resolve()
      socket.send(message, () => {
        extra.held.unread(socket.bufferedAmount)
        resolve()
      })
      const unreadBytes = socket.bufferedAmount
      extra.held.unread(unreadBytes)
      // If the client does not read this either, `ws` cuts the connection half a minute later.
      if (unreadBytes > UNREAD_BYTES_MAX)
        socket.close(TRY_AGAIN_LATER, `more than ${unreadBytes} bytes of answers are unread: read faster, or ask for less at a time`)
    })
  }

  function closeIfIdle(extra: Socket): void {
    if (extra.pending.size === 0) extra.socket.close(1001, 'the process drains: connect again')
  }

  return {
    async drain() {
      draining = true
      const closed = [...sockets].map(({ socket }) => new Promise<void>((resolve) => socket.once('close', () => resolve())))
      for (const extra of sockets) closeIfIdle(extra)
      await Promise.all(closed)
    },
    terminate() {
      for (const { socket } of sockets) socket.terminate()
    },
  }
}

const SHUTTING_DOWN = refusal(new TidemarkError('SHUTTING_DOWN', 'this process drains: connect again'), JSON_TYPE)
const FOREIGN_PAGE = refusal(
  new TidemarkError('FORBIDDEN', 'pages of this origin may not connect: list it in server.cors.origins, or the host in server.hosts'),
  JSON_TYPE,
)

/**
 * The library wants a document to know which kind of operation it runs. Ours is prepared already, so it gets the
 * smallest document of that kind.
 */
const DOCUMENTS: Readonly<Record<PreparedOperation['kind'], DocumentNode>> = {
  query: parse('query { __typename }'),
  mutation: parse('mutation { __typename }'),
  subscription: parse('subscription { __typename }'),
}

function runOf(args: ExecutionArgs): Run {
  return args.contextValue as Run
}

/** What would take long to parse becomes nothing, which is no message of the protocol and closes the socket. */
function textOf(data: RawData): string {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.isBuffer(data) ? data : Buffer.from(data)
  return shapeMistake(bytes) === undefined ? bytes.toString() : ''
}

function keepAlive(socket: WebSocket, pingEveryMs: number): () => void {
  let answered = true
  socket.on('pong', () => (answered = true))
  const timer = setInterval(() => {
    // The answers of a client are unknown while its socket is not read.
    if (!answered && !socket.isPaused) return socket.terminate()
    answered = false
    socket.ping()
  }, pingEveryMs)
  return () => clearInterval(timer)
}

/** Only servers send `next`, `error` and `connection_ack`. The library throws the same error for them as for its own mistakes. */
function isForbiddenMessage(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('Unexpected message of type')
}
