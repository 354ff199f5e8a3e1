/**
 * Maps errors of the driver and the server to TidemarkErrors: a code, a sentence with the fix, the cause. This is the
 * only place that wraps them. The statement is removed from the cause: it contains viewers' data, and it is long.
 */
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { reasonsOf } from '../reasons.ts'

type DriverError = Error & { code?: string; errno?: number; sqlMessage?: string; sql?: string; fatal?: boolean }

const DEADLOCK = 1213
const LOCK_WAIT = 1205
const DUPLICATE = 1062
/** TiDB: write conflict at the commit. */
const WRITE_CONFLICT = 9007
const NO_TABLE = 1146
const UNKNOWN_DATABASE = 1049
const TOO_MANY = new Set([1040, 1203, 1226])
const DENIED = new Set([1044, 1045, 1130, 1142, 1143, 1227, 1251, 1698, 3118, 3159])
const READ_ONLY = new Set([1290, 1792, 1836])
/** The connection ended: shutting down, killed, gone away, lost. */
const LOST = [1053, 1077, 1079, 1152, 1159, 1161, 1927, 2006, 2013, 4031]
const LOST_CODES = new Set(['PROTOCOL_CONNECTION_LOST', 'ECONNRESET', 'EPIPE'])
/** Also: the statement was killed or took too long (1317, 3024, 1969); TiDB: the storage does not answer (9001 to 9013). */
const INTERRUPTED = new Set([...LOST, 1317, 3024, 1969, 9001, 9002, 9003, 9004, 9005, 9013])
const FULL = new Set([1021, 1114, 3675])
const TLS_REFUSED = new Set(['HANDSHAKE_SSL_ERROR', 'HANDSHAKE_NO_SSL_SUPPORT'])
/** Operating system error 28, "no space left on device", as servers quote it. */
const NO_SPACE = /(?:errcode|errno|error|os errno)[: ]+28\b|no space left/i

/** Deadlock or lock timeout: the same statement may be sent again. */
export function isContention(error: unknown): boolean {
  const number = numberOf(error)
  return number === DEADLOCK || number === LOCK_WAIT || number === WRITE_CONFLICT
}

/** Another transaction has inserted the row. */
export function isDuplicate(error: unknown): boolean {
  return numberOf(error) === DUPLICATE
}

/** The server is overloaded: send less to it. */
export function isOverload(error: unknown): boolean {
  return numberOf(error) === LOCK_WAIT || isTooMany(error) || codeOf(error) === 'PROTOCOL_SEQUENCE_TIMEOUT'
}

/** The server allows no further connection, to anybody or to this account. */
export function isTooMany(error: unknown): boolean {
  return TOO_MANY.has(numberOf(error) ?? 0)
}

/** The connection was lost, perhaps while the server was well. A read may be sent again on another connection. */
export function isConnectionLost(error: unknown): boolean {
  return LOST.includes(numberOf(error) ?? 0) || LOST_CODES.has(codeOf(error) ?? '')
}

/** Wrong credentials, rights, database or certificate. A retry helps only after an operator changes them. */
export function isMisconfigured(error: unknown): boolean {
  const number = numberOf(error)
  return TLS_REFUSED.has(codeOf(error) ?? '') || (number !== undefined && (DENIED.has(number) || number === UNKNOWN_DATABASE))
}

export function isMissingTable(error: unknown): boolean {
  return numberOf(error) === NO_TABLE
}

/** True if the connection cannot be used after this error. */
export function endsConnection(error: unknown): boolean {
  const { fatal, errno } = driverError(error)
  return fatal === true || errno === undefined || READ_ONLY.has(errno) || INTERRUPTED.has(errno)
}

/** `server` and `account` name the server and the user in messages. */
export function wrapFailure(error: unknown, server: string, account: string): TidemarkError {
  if (isTidemarkError(error)) return error
  const cause = driverError(error)
  delete cause.sql
  const said = cause.sqlMessage ?? cause.message
  const number = cause.errno
  const unavailable = (sentence: string) => new TidemarkError('RECORD_STORE_UNAVAILABLE', sentence, { cause })
  if (FULL.has(number ?? 0) || NO_SPACE.test(said)) {
    return new TidemarkError('STORE_FULL', `${server} has no space left (${said}): free or add disk space`, { cause })
  }
  if (number === UNKNOWN_DATABASE) return unavailable(`${server} has no such database (${said}): create it, or correct the url`)
  if (number !== undefined && DENIED.has(number)) {
    return unavailable(`${server} refuses ${account} (${said}): check user, password, rights and tls`)
  }
  if (number === NO_TABLE) {
    return new TidemarkError('DATA_INCOMPATIBLE', `${server} lacks a table of Tidemark's (${said}): run \`tidemark migrate\``, { cause })
  }
  if (TLS_REFUSED.has(cause.code ?? ''))
    return unavailable(`the TLS settings do not match those of ${server} (${said}): check tls, its ca, and the server's certificate`)
  if (number !== undefined && READ_ONLY.has(number)) return unavailable(`${server} is read-only (${said}): point the url at the primary`)
  if (isTooMany(cause)) {
    return unavailable(`${server} has no connection left (${said}): raise its max_connections or lower connectionsMax`)
  }
  if (isContention(cause) || isDuplicate(cause))
    return unavailable(`${server} kept refusing a lock (${said}): the statement is retried; look for long transactions`)
  if (codeOf(cause) === 'PROTOCOL_SEQUENCE_TIMEOUT')
    return unavailable(`${server} did not finish a statement in time: it is overloaded or stuck`)
  // Node's errors have codes too, for example the error of a row that cannot be decoded.
  const isFault = error instanceof RangeError || error instanceof TypeError
  const isOfSystem = number === undefined && cause.code !== undefined && !isFault
  if ((number ?? 0) < 0 || cause.fatal === true || INTERRUPTED.has(number ?? 0) || isOfSystem) {
    return unavailable(`${server} does not answer (${reasonsOf(cause.code ?? said)}): check that it runs and can be reached`)
  }
  if (said === 'Pool is closed.') return unavailable(`the connection to ${server} was closed`)
  return new TidemarkError('INTERNAL', `a statement for ${server} failed (${number ?? cause.name}: ${said})`, { cause })
}

function driverError(error: unknown): DriverError {
  return error instanceof Error ? error : new Error(String(error))
}

function numberOf(error: unknown): number | undefined {
  const { errno, cause } = driverError(error)
  return errno ?? (isTidemarkError(error) && cause !== undefined ? numberOf(cause) : undefined)
}

function codeOf(error: unknown): string | undefined {
  const { code, cause } = driverError(error)
  return isTidemarkError(error) && cause !== undefined ? codeOf(cause) : code
}
