/** One process's port to the log of plays: the model of the log (`../model-log.ts`), a message for each play. */
import type { Clock } from '../../../core/clock.ts'
import type { Play } from '../../../core/domain.ts'
import { regionOf } from '../../../core/regions.ts'
import type { FlushMessage } from '../../../writeback/log.ts'
import type { PlayLog } from '../../../subgraphs/feed-existence/stores/play-log.ts'
import { atOnce, type Gate } from '../gate.ts'
import { openModelLog, type LogState, type Member } from '../model-log.ts'

export type PlayMessage = FlushMessage & { play: Play }

export function openSimulatedPlayLog(state: LogState, gate: Gate, clock: Clock, onJoined?: (member: Member) => void): PlayLog {
  const { regions } = state.options
  const log = openModelLog(state, gate, clock, onJoined)
  return {
    appendPlays: (plays) =>
      log.appendFlushes(plays.map((play): PlayMessage => ({ region: regionOf(play.viewer, regions), keys: [{ ...play }], play }))),
    consumePlays: ({ stage, parked }) =>
      log.consumeFlushes({
        persist: ({ messages }) => stage((messages as readonly PlayMessage[]).map(({ play }) => play)),
        ...(parked === undefined ? {} : { parked }),
      }),
    lag: () => log.lag(),
    end: () => atOnce(gate, 'log', 'end', [], state.end),
    isStaged: (end) => atOnce(gate, 'log', 'isStaged', [end], () => state.isCommitted(end)),
    check: () => log.check(),
    close: () => log.close(),
  }
}
