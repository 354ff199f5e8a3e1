/**
 * A bounded pool of connections to one MySQL, MariaDB or TiDB. Connecting, waiting for a free connection and every statement have a time
 * limit. A lost connection is not used again. A single read that loses its connection is sent once more; statements of a `session` are not.
 *
 * A statement that timed out may still run on the server. All statements of Tidemark may be repeated.
 */
import { type ConnectionOptions, type PoolConnection, type SslOptions } from 'mysql2'
import type { Clock } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import { mysqlAddress } from '../../config/store-addresses.ts'
import { endsConnection, isConnectionLost, wrapFailure } from './failures.ts'
import { makePool } from './pool.ts'
import { SESSION } from './statements.ts'

export type MysqlTls = {
  /** PEM of the authority to trust instead of the system's. */
  ca?: string
  /** PEM of a client certificate and its key, if the server requires one. */
  cert?: string
  key?: string
}

export type MysqlOptions = {
  /** `mysql://user:password@host:3306/database`. User and password may be given below instead. */
  url: string
  user?: string
  password?: string
  /**
   * True: encrypted, with the server's certificate and name verified; the url must then have the server's name, not its address. Default
   * false.
   */
  tls?: boolean | MysqlTls
  /** Maximum connections. Minimum 1. Default 8. */
  connectionsMax?: number
  /** Milliseconds for connecting. Minimum 1. Default 5000. */
  connectTimeoutMs?: number
  /** Milliseconds for a statement, without the wait for a free connection. Minimum 1. Default 30000. */
  statementTimeoutMs?: number
  /** Milliseconds to wait for a free connection. Minimum 1. Default 10000. */
  waitTimeoutMs?: number
}

export type Cell = number | string | Buffer | null
export type Row = readonly Cell[]
/** The rows of a query, the number of rows that a change affected, and the number that an insert was assigned (0 if none). */
export type Answer = { rows: Row[]; affected: number; insertedNumber: number }

/** Milliseconds for a statement, and for the wait for a connection before it, by default. */
export const STATEMENT_TIMEOUT_MS = 30_000
export const WAIT_TIMEOUT_MS = 10_000

export type Session = { send(sql: string, timeoutMs?: number): Promise<Answer> }

export type Database = Session & {
  /** `host:port/database`, for messages. */
  server: string
  connectionsMax: number
  /** Runs `work` on one connection, as session locks require. */
  session<T>(work: (session: Session) => Promise<T>): Promise<T>
  /** Ends every connection; those in use after their statement. Idempotent. */
  close(): Promise<void>
}

export const CLOSE_MAX_MS = 5_000
const READ = /^\(?SELECT\b/

/** Throws CONFIG_INVALID if the options are wrong. Connects on first use. */
export function openDatabase(clock: Clock, options: MysqlOptions): Database {
  const address = parseUrl(options)
  const server = `${address.host}:${address.port}/${address.database}`
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS
  const waitTimeoutMs = options.waitTimeoutMs ?? WAIT_TIMEOUT_MS
  const connectionsMax = options.connectionsMax ?? 8
  // Our statements have no placeholders. Without this, the driver looks for them in each statement, character by character.
  const queryFormat = (sql: string): string => sql
  const pool = makePool(clock, { ...address, ...connectionSettings(options), connectionLimit: connectionsMax, queryFormat })
  const prepared = new WeakSet<PoolConnection>()
  let closing: Promise<void> | undefined

  function borrow(): Promise<PoolConnection> {
    if (closing !== undefined)
      return Promise.reject(new TidemarkError('RECORD_STORE_UNAVAILABLE', `the connection to ${server} was closed`))
    return new Promise((resolve, reject) => {
      let waiting = true
      const timer = clock.after(waitTimeoutMs, () => {
        waiting = false
        const sentence = `no connection to ${server} became free in ${waitTimeoutMs} ms: it is overloaded or cannot be reached`
        reject(new TidemarkError('RECORD_STORE_UNAVAILABLE', sentence))
      })
      pool.take((error, connection) => {
        timer.cancel()
        if (error !== null) reject(error)
        else if (waiting) resolve(connection)
        else connection.release()
      })
    })
  }

  async function session<T>(work: (session: Session) => Promise<T>): Promise<T> {
    let connection: PoolConnection | undefined
    try {
      const borrowed = (connection = await borrow())
      const own: Session = { send: (sql, timeoutMs = statementTimeoutMs) => send(borrowed, sql, timeoutMs) }
      if (!prepared.has(borrowed)) {
        for (const statement of SESSION) await own.send(statement)
        prepared.add(borrowed)
      }
      const result = await work(own)
      borrowed.release()
      return result
    } catch (error) {
      if (connection !== undefined) giveBack(connection, error)
      throw wrapFailure(error, server, `"${address.user ?? ''}"`)
    }
  }

  async function sendOne(sql: string, timeoutMs?: number): Promise<Answer> {
    const once = (): Promise<Answer> => session((own) => own.send(sql, timeoutMs))
    try {
      return await once()
    } catch (error) {
      if (!READ.test(sql) || !isConnectionLost(error)) throw error
      return once()
    }
  }

  return {
    server,
    connectionsMax,
    session,
    send: sendOne,
    close() {
      closing ??= new Promise((resolve) => {
        const timer = clock.after(CLOSE_MAX_MS, resolve)
        pool.end(() => {
          timer.cancel()
          resolve()
        })
      })
      return closing
    },
  }

  function giveBack(connection: PoolConnection, error: unknown): void {
    if (!prepared.has(connection) || endsConnection(error)) pool.destroy(connection)
    else connection.release()
  }
}

function send(connection: PoolConnection, sql: string, timeoutMs: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    connection.query({ sql, rowsAsArray: true, timeout: timeoutMs }, (error, result) => {
      if (error !== null) reject(error)
      else if (Array.isArray(result)) resolve({ rows: result as unknown as Row[], affected: 0, insertedNumber: 0 })
      else resolve({ rows: [], affected: result.affectedRows, insertedNumber: result.insertId })
    })
  })
}

type Address = { host: string; port: number; database: string; user?: string; password?: string }

function parseUrl(options: MysqlOptions): Address {
  const { user, password, ...place } = mysqlAddress(options, 'the url of the record store')
  return { ...place, ...(user === '' ? {} : { user }), ...(password === '' ? {} : { password }) }
}

/** The driver's options for one connection outside a pool: address, account, TLS. Throws CONFIG_INVALID. */
export function connectionOptions(options: MysqlOptions): Address & ConnectionOptions {
  return { ...parseUrl(options), ...connectionSettings(options) }
}

function connectionSettings(options: MysqlOptions): ConnectionOptions {
  const connectTimeout = options.connectTimeoutMs ?? 5_000
  const ssl: SslOptions | undefined =
    options.tls === undefined || options.tls === false
      ? undefined
      : { ...(options.tls === true ? {} : options.tls), rejectUnauthorized: true, verifyIdentity: true, minVersion: 'TLSv1.2' }
  return {
    connectTimeout,
    keepAliveInitialDelay: 30_000,
    supportBigNumbers: true,
    charset: 'utf8mb4',
    ...(ssl === undefined ? {} : { ssl }),
  }
}
