/** The world as the operator uses it, and the faults that can be planted into the command. */
import type { ViewerId } from '../../../core/domain.ts'
import type { RingShape } from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import type { SeenRecordsState } from '../../models/feed-existence/record-store-model.ts'
import type { History } from '../history-of-events.ts'
import type { Scheduler } from '../scheduler.ts'
import type { SeenChecker } from './checker.ts'
import type { SeenHotState } from './model-hot.ts'
import type { LegacyFaults } from './model-legacy.ts'
import type { SeenProcess } from './process.ts'

export type OperatorFaults = LegacyFaults & {
  /** A viewer is marked as migrated as soon as their set was read. */
  marksFirst?: boolean
  /** The command continues after the next unlisted viewer, and so skips that viewer. */
  resumesPast?: boolean
}

export type OperatorWorld = {
  scheduler: Scheduler
  checker: SeenChecker
  history: History | undefined
  hot: SeenHotState
  records: SeenRecordsState
  faults: OperatorFaults
  viewers: readonly ViewerId[]
  monthsBefore: number
  skewMaxMs: number
  /** The current shape. */
  shape(): RingShape
  processes(): readonly SeenProcess[]
  serving(): readonly SeenProcess[]
  /** Damages a filter, if this world can rebuild it. */
  damage(): void
}
