/** The servers of the distributed shape, as configured. */
import type { Config } from '../../config/config.ts'

export type Distributed = Required<Pick<Config['stores'], 'redis' | 'kafka' | 'mysql'>>

/** Where adapters say what they do by themselves, such as connecting again. pino's fits. */
export type StoreLogger = Record<'debug' | 'info' | 'warn' | 'error', (fields: object, message: string) => void>

/** The same; each line names the business. */
export function loggerOf(logger: StoreLogger, business: string): StoreLogger {
  const say = (level: keyof StoreLogger) => (fields: object, message: string) => logger[level]({ business, ...fields }, message)
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
}

export function kafkaConnection({ brokers, tls, sasl }: Distributed['kafka']) {
  return { brokers, ...(tls && { tls }), ...(sasl && { sasl }) }
}

/** The last opened first. */
export async function closeAll(stores: readonly { close(): Promise<void> }[]): Promise<void> {
  for (const store of [...stores].reverse()) await store.close()
}
