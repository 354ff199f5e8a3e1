import type { Degraded } from '../../core/outage/degraded.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Loaders } from '../../loaders/history.ts'

/** The context of every request, local or standalone. */
export type HistoryContext = {
  viewer: Viewer | undefined
  loaders: Loaders
  /** The stores that the answer lacked. */
  degraded: Degraded
}
