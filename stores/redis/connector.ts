/**
 * Makes a connection to a Redis server. The connector of ioredis listens for one error per socket. A TLS socket that rejected a certificate
 * may emit a second one, the server's complaint, and an error without a listener ends the process. Every socket therefore gets a permanent
 * listener.
 */
import { AbstractConnector } from 'ioredis'
import { createConnection } from 'node:net'
import type { Socket } from 'node:net'
import { connect } from 'node:tls'
import type { ConnectionOptions } from 'node:tls'

export type ConnectorOptions = { host?: string; port?: number; tls?: ConnectionOptions; disconnectTimeout?: number }

const DISCONNECT_MAX_MS = 2_000

export class SteadyConnector extends AbstractConnector {
  readonly #options: ConnectorOptions

  constructor(options: unknown) {
    const given = options as ConnectorOptions
    super(given.disconnectTimeout ?? DISCONNECT_MAX_MS)
    this.#options = given
  }

  override async connect(): Promise<Socket> {
    this.connecting = true
    // A client that is closed at once makes no connection.
    await Promise.resolve()
    if (!this.connecting) throw new Error('Connection is closed.')
    const { host = '127.0.0.1', port = 6379, tls } = this.#options
    const stream = tls === undefined ? createConnection({ host, port }) : connect({ host, port, ...tls })
    stream.on('error', (error) => {
      this.firstError ??= error
    })
    readBeforeTimeout(stream)
    this.stream = stream
    return stream
  }
}

/** ioredis replaces a silent connection. If this process was busy until now, the answer may wait in the socket. It is read first. */
function readBeforeTimeout(stream: Socket): void {
  const destroy = stream.destroy.bind(stream)
  stream.destroy = (error) => {
    if (error?.message.startsWith('Socket timeout') !== true) return destroy(error)
    const { bytesRead } = stream
    setImmediate(() => {
      if (stream.bytesRead === bytesRead) destroy(error)
    })
    return stream
  }
}
