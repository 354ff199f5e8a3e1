/** The stores that are down, and the end of each store's last outage. */
import type { ErrorCode } from '../../core/errors.ts'
import type { StoreName } from './gate.ts'
import type { History } from './history-of-events.ts'

/** The code of a call to a store that is down. */
export const CODES: Record<StoreName, ErrorCode> = {
  hot: 'HOT_STORE_UNAVAILABLE',
  cache: 'HOT_STORE_UNAVAILABLE',
  log: 'LOG_UNAVAILABLE',
  records: 'RECORD_STORE_UNAVAILABLE',
  events: 'LOG_UNAVAILABLE',
  journal: 'HOT_STORE_UNAVAILABLE',
  legacy: 'LEGACY_UNAVAILABLE',
}

export type Outages = ReturnType<typeof makeOutages>

export function makeOutages(now: () => number, history: History | undefined) {
  const down = new Set<StoreName>()
  const lastDown = new Map<StoreName, number>()
  return {
    isDown: (store: StoreName) => down.has(store),
    setDown(store: StoreName, isDown: boolean): void {
      if (down.has(store)) lastDown.set(store, now())
      if (isDown) down.add(store)
      else down.delete(store)
      history?.note(now(), `--- ${store} store is ${isDown ? 'down' : 'up'}`)
    },
    /** True if a store with this code was down at any time since then. */
    wasDownSince: (code: ErrorCode, since: number) =>
      (Object.keys(CODES) as StoreName[]).some(
        (store) => CODES[store] === code && (down.has(store) || (lastDown.get(store) ?? -1) >= since),
      ),
  }
}
