/** A read that goes on without a store that is down. */
import { saysDown, type Degraded } from '../../../core/outage/degraded.ts'

/** Adds the store to the collector if the error says that it is down. Throws otherwise, and without a collector. */
export function noteOrThrow(error: unknown, store: 'hotStore' | 'recordStore', degraded: Degraded | undefined): void {
  if (degraded === undefined || !saysDown(error, store)) throw error
  degraded.add(store)
}
