/** The findings of `tidemark doctor`, about the servers of the stores, the nodes of the cache, and the live configuration. */
import type { AnyStoreName } from '../../core/outage/degraded.ts'
import type { StoreFindingName } from '../../config/store-findings.ts'

export type Finding = {
  store: AnyStoreName | 'cache' | 'config'
  /** The business that owns the server; absent: the server of all businesses. */
  business?: string
  /** Absent: no problem. */
  name?: StoreFindingName
  /** wrong: it fails or loses data. doubtful: check it. */
  level: 'good' | 'doubtful' | 'wrong'
  /** The finding and, unless it is good, the action to take. */
  sentence: string
  /** The server holds copies only: lost data is read again elsewhere. */
  isCopy?: boolean
}

/** One round of checks of one server, or of all nodes of the cache. It rejects only on a bug of Tidemark. */
export type Examination = { store: Finding['store']; business?: string; examine(): Promise<Finding[]> }
