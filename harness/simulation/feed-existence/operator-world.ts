/** What the operator finds: the world, and the faults that the command may have. */
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
  /** A viewer is marked as migrated as soon as his set was read. */
  marksFirst?: boolean
  /** The command goes on behind the viewer who was next when it died. */
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
  /** In use now. */
  shape(): RingShape
  processes(): readonly SeenProcess[]
  serving(): readonly SeenProcess[]
  /** A filter becomes unreadable, if that can be mended in this world. */
  damage(): void
}
