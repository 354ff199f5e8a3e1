/**
 * GraphQL over WebSocket, by the protocol graphql-transport-ws of `graphql-ws`, on the same path as HTTP. The viewer is
 * named once, in the payload of `connection_init` (`{authorization: 'Bearer …'}`, in development also `{viewerId}`), or,
 * by clients that can, in the headers of the upgrade. Then operations of every kind run over the open socket, each with
 * a context of its own: this is the cheap way for a player to send a heartbeat every few seconds.
 *
 * Refused credentials close the socket with 4403 and say why; so does a token that expires while the socket is open, since
 * the protocol knows no message to send a new one with: the client connects again. A socket that answers no ping is terminated.
 *
 * What the subscriptions of a socket cost together is bounded (open-cost.ts): one more is refused with SUBSCRIPTIONS_TOO_MANY,
 * those open go on.
 *
 * Answers that a client does not read are held up to a bound; beyond it the socket is closed with 1013.
 *
 * A drain closes sockets with 1001, on which clients connect again, elsewhere. Queries and mutations under way are
 * answered first; subscriptions are not completed, because a client takes `complete` for an end and would not come back.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { parse, type DocumentNode, type ExecutionArgs } from 'graphql'
import { CloseCode, handleProtocols, makeServer } from 'graphql-ws'
import { WebSocketServer, type RawData, type WebSocket } from 'ws'
import { TidemarkError, isTidemarkError } from '../core/errors.ts'
import { nestsTooDeep } from './body.ts'
import type { Engine, PreparedOperation } from './engine.ts'
import { graphqlErrorOf } from './error-format.ts'
import type { Front, OperationRequest } from './front.ts'
import type { Caller } from './caller.ts'
import { EXPIRED, whenExpired } from './expiry.ts'
import { makeOpenCost, whenEnded, type OpenCost } from './open-cost.ts'
import { operationOfMessage, withText } from './parameters.ts'
import { namesViewer, type Credentials } from './viewer.ts'

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
/** Bytes of answers that may wait for a client to read them. What has a thousand operations open and reads nothing fills memory. */
const UNREAD_BYTES_MAX = 16_777_216
const NOBODY: Caller = { viewer: undefined, client: undefined, address: undefined }
const NOTHING_TAKEN = (): void => undefined
/** What the protocol allows for the reason of a close frame. */
const REASON_BYTES_MAX = 123

type Socket = {
  readonly socket: WebSocket
  readonly upgrade: IncomingMessage
  caller: Caller
  readonly pending: Set<string>
  readonly openCost: OpenCost
  /** Stops waiting for the token to expire. */
  forget(): void
}
type Run = {
  readonly prepared: PreparedOperation
  readonly operation: OperationRequest
  readonly caller: Caller
  /** Gives back what its subscription costs. */
  readonly release: () => void
}

export function serveWebSockets(server: Server, engine: Pick<Engine, 'schema'>, front: Front, options: WebSocketOptions): WebSockets {
  const sockets = new Set<Socket>()
  const { subscriptionsCostMax = Infinity } = options
  let draining = false
  const upgrades = new WebSocketServer({ noServer: true, maxPayload: options.messageBytesMax, handleProtocols })

  const protocol = makeServer<Credentials | undefined, Socket>({
    // Asked for each time: a reload puts another in its place.
    schema: () => engine.schema,
    connectionInitWaitTimeout: options.initMaxMs ?? INIT_MAX_MS,
    async onConnect(connection) {
      const { extra } = connection
      const params: Credentials = connection.connectionParams ?? {}
      try {
        const { headers, socket } = extra.upgrade
        const credentials = namesViewer(params) ? params : { ...headers, ...params }
        const caller = await front.callerOf(credentials, socket.remoteAddress, headers)
        if ('errors' in caller) {
          extra.socket.close(CloseCode.Forbidden, reasonOf(`RATE_LIMITED: ${caller.errors[0]?.message ?? ''}`))
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
    onSubscribe(connection, id, payload) {
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
      const prepared = front.prepare(operation, connection.extra.caller)
      if ('errors' in prepared) return prepared.errors
      const { extra, subscriptions } = connection
      const release = prepared.kind === 'subscription' ? extra.openCost.take(prepared.cost?.(operation.variables) ?? 1) : NOTHING_TAKEN
      if (release === undefined) {
        const sentence = `the subscriptions that this socket has open may cost ${subscriptionsCostMax} points together, and this one is too much: complete some first, or follow fewer ids`
        return [graphqlErrorOf(new TidemarkError('SUBSCRIPTIONS_TOO_MANY', sentence))]
      }
      const start = () => {
        // The client may have gone on to complete it while somebody counted.
        if (prepared.kind !== 'subscription' && id in subscriptions) extra.pending.add(id)
        const run: Run = { prepared, operation, caller: extra.caller, release }
        return { schema: engine.schema, document: DOCUMENTS[prepared.kind], contextValue: run }
      }
      const admission = front.admit(prepared, operation, extra.caller)
      if (admission === undefined) return start()
      return admission.then((refused) => {
        if (refused === undefined) return start()
        release()
        return refused.errors
      })
    },
    execute: (args) => {
      const { prepared, operation, caller } = runOf(args)
      return front.execute(prepared, operation, caller)
    },
    async subscribe(args) {
      const { prepared, operation, caller, release } = runOf(args)
      try {
        const opened = await front.subscribe(prepared, operation, caller)
        if (Symbol.asyncIterator in opened) return whenEnded(opened, release)
        release()
        return opened
      } catch (error) {
        release()
        throw error
      }
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
    if (draining) return refuseUpgrade(duplex, '503 Service Unavailable')
    if (request.url?.split('?', 1)[0] !== options.path) return refuseUpgrade(duplex, '404 Not Found')
    const { origin, host } = request.headers
    if (options.isAllowed?.(origin, host) === false) {
      front.log.warn({ origin }, 'a WebSocket of a foreign page was refused: list its origin in server.cors.origins to let it in')
      return refuseUpgrade(duplex, '403 Forbidden')
    }
    upgrades.handleUpgrade(request, duplex, head, (socket) => accept(socket, request))
  }

  function accept(socket: WebSocket, request: IncomingMessage): void {
    const extra: Socket = {
      socket,
      upgrade: request,
      caller: NOBODY,
      pending: new Set(),
      openCost: makeOpenCost(subscriptionsCostMax),
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
        send: (message) => send(socket, message),
        close: (code, reason) => socket.close(code, reason),
        onMessage: (receive) => {
          socket.on('message', (data) => {
            receive(withText(textOf(data))).catch((error: unknown) => {
              front.log.error({ err: error }, 'a WebSocket message could not be handled')
              socket.close(CloseCode.InternalServerError, 'internal error')
            })
          })
        },
      },
      extra,
    )
    socket.once('close', (code, reason) => {
      stopPings()
      extra.forget()
      sockets.delete(extra)
      front.metrics.socketClosed()
      closed(code, String(reason)).catch((error: unknown) => front.log.warn({ err: error }, 'a subscription did not stop cleanly'))
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

/** Resolves when the message is handed to the network, so that a slow reader slows its own source. */
function send(socket: WebSocket, message: string): Promise<void> {
  return new Promise((resolve) => {
    // An error here means that the socket is closing; its `close` event tells the rest.
    if (socket.readyState !== socket.OPEN) return resolve()
    socket.send(message, () => resolve())
    // 1013: come again later. If he does not read this either, `ws` cuts the connection half a minute later.
    if (socket.bufferedAmount > UNREAD_BYTES_MAX)
      socket.close(1013, `more than ${UNREAD_BYTES_MAX} bytes of answers are unread: read faster, or ask for less at a time`)
  })
}

/** What would take long to parse becomes nothing, which is no message of the protocol and closes the socket. */
function textOf(data: RawData): string {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.isBuffer(data) ? data : Buffer.from(data)
  return nestsTooDeep(bytes) ? '' : bytes.toString()
}

function keepAlive(socket: WebSocket, pingEveryMs: number): () => void {
  let answered = true
  socket.on('pong', () => (answered = true))
  const timer = setInterval(() => {
    if (!answered) return socket.terminate()
    answered = false
    socket.ping()
  }, pingEveryMs)
  return () => clearInterval(timer)
}

function refuseUpgrade(duplex: Duplex, status: string): void {
  duplex.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}

function reasonOf(text: string): string {
  if (Buffer.byteLength(text) <= REASON_BYTES_MAX) return text
  return (
    Buffer.from(text)
      .subarray(0, REASON_BYTES_MAX - 3)
      .toString('utf8')
      .replace(/\uFFFD+$/, '') + '…'
  )
}
