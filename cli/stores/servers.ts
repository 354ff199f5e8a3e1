/** The servers of the distributed shape, as configured. */
import type { Config } from '../../config/config.ts'

export type Distributed = Required<Pick<Config['stores'], 'redis' | 'kafka' | 'mysql'>>

/** The logger of adapters, for background work such as connecting again. A pino logger fits. */
export type StoreLogger = Record<'debug' | 'info' | 'warn' | 'error', (fields: object, message: string) => void>

/** A logger with the name of the business in each line. */
export function loggerOf(logger: StoreLogger, business: string): StoreLogger {
  const say = (level: keyof StoreLogger) => (fields: object, message: string) => logger[level]({ business, ...fields }, message)
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
}

export function kafkaConnection({ brokers, tls, sasl }: Distributed['kafka']) {
  return { brokers, ...(tls && { tls }), ...(sasl && { sasl }) }
}

/** A window takes all waiting messages at once; see writeback/window.ts. */
export const WINDOW_KEYS_MAX = 200_000
/** Partitions wait together for the end of a window. */
export const PARTITIONS_AT_ONCE = 10_000
/** A request waits this long for a failing hot store. */
export const HOT_RETRY_MAX_MS = 2_000

type Closable = { close(): Promise<void> }

/**
 * Opens stores that are closed together. `keep` takes each store as soon as it is open. If a later one cannot be opened, those are closed,
 * and the error is thrown.
 */
export async function openTogether<T extends object>(
  open: (keep: <S extends Closable>(store: S | Promise<S>) => Promise<S>) => Promise<T>,
): Promise<T & Closable> {
  const opened: Closable[] = []
  try {
    const stores = await open(async (store) => {
      const kept = await store
      opened.push(kept)
      return kept
    })
    return { ...stores, close: () => closeAll(opened) }
  } catch (error) {
    await closeAll(opened)
    throw error
  }
}

/** Closes the stores in reverse order. */
export async function closeAll(stores: readonly Closable[]): Promise<void> {
  for (const store of [...stores].reverse()) await store.close()
}
