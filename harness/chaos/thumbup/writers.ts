/**
 * The load: lanes of calls to gateways, each with its own viewers and owners of subjects. They send storms of likes and undos of one
 * viewer, crowds of viewers on one subject, single marks, and registrations of owners. Their reads must never show less than the
 * acknowledged marks.
 */
import type { Role } from '../../deployment/role.ts'
import { makeLane, runLane, type Lane, type RunningLane } from '../lane.ts'
import type { Ledger } from './ledger.ts'
import { makeMarking } from './marking.ts'
import { makeReading } from './reading.ts'
import type { MarkWriterOptions } from './writer-options.ts'

export type MarkWriters = {
  /** Resolves when the last call was answered. Rejects if no gateway answers in 30 s. */
  stop(): Promise<void>
}

export function startMarkWriters(gateways: readonly Role[], ledger: Ledger, options: MarkWriterOptions): MarkWriters {
  const lanes = Array.from({ length: options.lanes }, (_, number) => startLane(makeLane(gateways, number, options), ledger, options))
  return {
    async stop() {
      await Promise.all(lanes.map((lane) => lane.stop()))
    },
  }
}

function startLane(lane: Lane, ledger: Ledger, options: MarkWriterOptions): RunningLane {
  const { storm, crowd, single, register } = makeMarking(lane, ledger, options)
  const { lookUp, readPage } = makeReading(lane, ledger, options)
  return runLane(lane, options.pauseMaxMs, async () => {
    const dice = lane.random()
    if (options.readsOnly === true) await (dice < 0.9 ? lookUp() : readPage())
    else if (dice < 0.3) await storm()
    else if (dice < 0.5) await crowd()
    else if (dice < 0.62) await single()
    else if (dice < 0.7) await register()
    else if (dice < 0.88) await lookUp()
    else await readPage()
  })
}
