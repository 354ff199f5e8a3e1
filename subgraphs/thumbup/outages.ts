/** The outages of one set of stores, as the service knows them. */
import type { StoreName } from '../../core/outage/degraded.ts'
import type { GuardedMarkStores } from './stores/guarded.ts'

/** Per store: is it down as far as the service knows, and how often was it down? */
export type ThumbupOutages = Record<StoreName, { isDown: boolean; count: number }>

/** For operators, the hot store and the count cache are one store. */
export function breakersOf({ breakers: { hotStore, countCache, log, recordStore } }: GuardedMarkStores) {
  return {
    hotStore: {
      isOpen: () => hotStore.isOpen() || countCache.isOpen(),
      onClose(listener: () => void) {
        hotStore.onClose(listener)
        countCache.onClose(listener)
      },
    },
    log,
    recordStore,
  }
}

export function outagesOf(guarded: GuardedMarkStores): ThumbupOutages {
  const { hotStore, log, recordStore } = breakersOf(guarded)
  const { breakers } = guarded
  return {
    hotStore: { isDown: hotStore.isOpen(), count: breakers.hotStore.opened() + breakers.countCache.opened() },
    log: { isDown: log.isOpen(), count: breakers.log.opened() },
    recordStore: { isDown: recordStore.isOpen(), count: breakers.recordStore.opened() },
  }
}
