/** The outages of the stores, as the process reports them. */
import type { Breaker } from '../../core/outage/breaker.ts'
import type { StoreName } from '../../core/outage/degraded.ts'
import type { GuardedSeenStores } from './stores/guarded.ts'

/** Per store: whether it is down as far as the service knows, and the number of its outages. */
export type StoreOutages = Record<StoreName, { isDown: boolean; count: number }>

type StoreBreaker = Pick<Breaker, 'isOpen' | 'onClose' | 'opened'>

export function outagesOf(guarded: GuardedSeenStores): StoreOutages {
  const breakers = breakersOf(guarded)
  const outageOf = (store: StoreName) => ({ isDown: breakers[store].isOpen(), count: breakers[store].opened() })
  return { hotStore: outageOf('hotStore'), log: outageOf('log'), recordStore: outageOf('recordStore') }
}

/** For the operator, a hot store that refuses writes is down. */
export function breakersOf({ breakers, writes }: GuardedSeenStores): Record<StoreName, StoreBreaker> {
  const hot = breakers.hotStore
  return {
    ...breakers,
    hotStore: {
      isOpen: () => hot.isOpen() || writes.isOpen(),
      opened: () => hot.opened() + writes.opened(),
      onClose(listener) {
        hot.onClose(listener)
        writes.onClose(listener)
      },
    },
  }
}
