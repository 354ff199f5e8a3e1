/**
 * The kafkajs client: addresses, TLS and credentials, time limits for everything, and the messages of kafkajs at the right log level.
 *
 * kafkajs is required but unmaintained. This folder corrects its defects: idle-timer.ts (a timer without end), appender.ts (sequence
 * numbers after a failed send), consumer.ts (restarts, hangs).
 */
import { Kafka, type KafkaConfig, type LogEntry, type SASLOptions, logLevel } from 'kafkajs'
import { systemClock, type Timer } from '../../core/clock.ts'
import { logError } from './errors.ts'
import { tameIdleTimer } from './idle-timer.ts'

export type KafkaConnection = {
  /** host:port of one or more brokers; the client learns the others from them. */
  brokers: readonly string[]
  /** The name of this process in the brokers' logs and quotas. Default "tidemark". */
  clientId?: string
  /** True for TLS with the system's authorities, or an object with PEM texts. */
  tls?: boolean | { ca?: string; cert?: string; key?: string; servername?: string }
  sasl?: { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: string }
  /** Milliseconds to connect, TLS included. Minimum 100. Default 3000. */
  connectMaxMs?: number
  /** Milliseconds a broker may take to answer. Minimum 100. Default 10000. */
  requestMaxMs?: number
}

/** The part of a logger (pino's, for example) that this folder needs. */
export type KafkaLogger = Record<'debug' | 'info' | 'warn' | 'error', (fields: object, message: string) => void>

export const CONNECT_MAX_MS = 3_000
export const REQUEST_MAX_MS = 10_000

/** Few and quick retries: callers of kafkajs here have a longer loop of their own, with a new client at each turn. */
export const RETRY = { retries: 3, initialRetryTime: 100, maxRetryTime: 1_000, factor: 0.2, multiplier: 2 }

export function makeClient(connection: KafkaConnection, logger: KafkaLogger): Kafka {
  tameIdleTimer()
  const config: KafkaConfig = {
    brokers: [...connection.brokers],
    clientId: connection.clientId ?? 'tidemark',
    connectionTimeout: connection.connectMaxMs ?? CONNECT_MAX_MS,
    authenticationTimeout: connection.requestMaxMs ?? REQUEST_MAX_MS,
    requestTimeout: connection.requestMaxMs ?? REQUEST_MAX_MS,
    retry: RETRY,
    logLevel: logLevel.INFO,
    logCreator: () => makeLogRouter(logger),
  }
  if (connection.tls !== undefined && connection.tls !== false) config.ssl = connection.tls
  if (connection.sasl !== undefined) config.sasl = connection.sasl as SASLOptions
  return new Kafka(config)
}

const REPEAT_MS = 10_000
const KEPT_MAX = 100
/** Callers get a connection failure as an error, and report it themselves. */
const CONNECTIONS = 'Connection'

/**
 * kafkajs calls nearly everything an error, and repeats it at each retry. Only the callers here know whether something failed in the end.
 * Errors of kafkajs are therefore logged as warnings, each at most once in ten seconds. Errors that it retries, and everything else, are
 * logged for debugging.
 */
function makeLogRouter(logger: KafkaLogger): (entry: LogEntry) => void {
  const saidAt = new Map<string, number>()
  return ({ level, namespace, log }) => {
    const { message, timestamp: _, logger: __, stack: ___, ...fields } = log
    const text = `kafkajs ${namespace}: ${message}`
    if (level !== logLevel.ERROR || namespace === CONNECTIONS || isRetried(message, fields)) {
      logger.debug(fields, text)
      return
    }
    const now = Date.now()
    if (now - (saidAt.get(text) ?? 0) < REPEAT_MS) return
    if (saidAt.size >= KEPT_MAX) saidAt.clear()
    saidAt.set(text, now)
    logger.warn(fields, text)
  }
}

/** "Response Heartbeat(…)" repeats an error that the caller gets; a retry count means that another attempt follows. */
function isRetried(message: string, fields: Record<string, unknown>): boolean {
  return message.startsWith('Response ') || typeof fields['retryCount'] === 'number' || message.startsWith('The coordinator is not aware')
}

/** Runs `work`. Turns every failure, and a duration over `maxMs`, into a TidemarkError. */
export async function bounded<T>(connection: KafkaConnection, maxMs: number, work: () => Promise<T>): Promise<T> {
  let timer: Timer | undefined
  const late = new Promise<never>((_, reject) => {
    timer = systemClock.after(maxMs, () => reject(new Error(`no answer within ${maxMs} ms`)))
  })
  try {
    return await Promise.race([work(), late])
  } catch (error) {
    throw logError(connection, error)
  } finally {
    timer?.cancel()
  }
}
