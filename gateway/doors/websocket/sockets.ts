/** The open WebSockets of this process, with their states. A drain ends them. */
import type { IncomingMessage } from 'node:http'
import type { WebSocket } from 'ws'
import type { CostQueue } from '../../limits/cost-queue.ts'
import type { HeldSocket } from '../../limits/held-bytes.ts'
import type { MessageIntake } from '../../limits/message-intake.ts'
import type { OpenConnection } from '../../limits/open-limits.ts'
import type { Caller } from '../../request/caller.ts'

export type ClientSocket = {
  readonly socket: WebSocket
  /** The headers may name the viewer. Undefined once the viewer is known, because it is as large as the socket. */
  upgrade: IncomingMessage | undefined
  caller: Caller
  readonly pending: Set<string>
  readonly open: OpenConnection
  /** Characters of the message that is being handed to the protocol. */
  messageLength: number
  /** Open subscriptions. They do not count as operations under way. */
  streams: number
  readonly underWay: CostQueue
  intake: MessageIntake | undefined
  readonly held: HeldSocket
  /** Stops waiting for the token to expire. */
  forget(): void
}

export type Sockets = {
  add(socket: ClientSocket): void
  delete(socket: ClientSocket): void
  isDraining(): boolean
  /** Closes the socket if no operation is pending. */
  closeIfIdle(socket: ClientSocket): void
  /** Closes all sockets once their queries and mutations are answered. Resolves when all are closed. */
  drain(): Promise<void>
  /** Terminates the sockets that are still open. */
  terminate(): void
}

/** The caller of a socket before `connection_init`. */
export const NOBODY: Caller = { viewer: undefined, client: undefined, address: undefined }

export function makeSockets(): Sockets {
  const sockets = new Set<ClientSocket>()
  let draining = false

  function closeIfIdle({ pending, socket }: ClientSocket): void {
    if (pending.size === 0) socket.close(1001, 'the process drains: connect again')
  }

  return {
    add: (socket) => void sockets.add(socket),
    delete: (socket) => void sockets.delete(socket),
    isDraining: () => draining,
    closeIfIdle,
    async drain() {
      draining = true
      const closed = [...sockets].map(({ socket }) => new Promise<void>((resolve) => socket.once('close', () => resolve())))
      for (const socket of sockets) closeIfIdle(socket)
      await Promise.all(closed)
    },
    terminate() {
      for (const { socket } of sockets) socket.terminate()
    },
  }
}
