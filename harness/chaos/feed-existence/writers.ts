/**
 * The load. Lanes call gateways for any viewer, so that each viewer has several devices. Players report through the log. A server with a
 * clock hours behind fills settled slots, although the run takes minutes. Reads must never show a play that was firm when they began.
 */
import type { OpenStores } from '../../../cli/stores/history.ts'
import type { Role } from '../../deployment/role.ts'
import { makeLane, runLane, type Lane, type RunningLane } from '../lane.ts'
import { makeAsks } from './asks.ts'
import type { Ledger } from './ledger.ts'
import { makePlays } from './plays.ts'
import type { Issued, SeenWriterOptions, Strangers } from './writer-options.ts'

export type SeenWriters = {
  /** Resolves when the last call was answered. Rejects if no gateway answers in 30 s. */
  stop(): Promise<void>
  figures(): Strangers
}

type Stores = OpenStores['seen']

export function startSeenWriters(gateways: readonly Role[], stores: Stores, ledger: Ledger, options: SeenWriterOptions): SeenWriters {
  const issued: Issued = new Map()
  const figures: Strangers = { strange: 0, strangeHidden: 0 }
  let lastId = 0

  function startLane(lane: Lane): RunningLane {
    const { play, issue, log, stageLate } = makePlays(lane, stores, ledger, issued, () => ++lastId, options)
    const { ask, askReasons } = makeAsks(lane, ledger, issued, figures, options)
    return runLane(lane, options.pauseMaxMs, async () => {
      const dice = lane.random()
      if (dice < 0.35) await play()
      else if (dice < 0.45) await issue()
      else if (dice < 0.75) await ask()
      else if (dice < 0.85) await askReasons()
      else if (dice < 0.93) await log()
      else await stageLate()
    })
  }

  const lanes = Array.from({ length: options.lanes }, (_, number) => startLane(makeLane(gateways, number, options)))
  return {
    figures: () => figures,
    async stop() {
      await Promise.all(lanes.map((lane) => lane.stop()))
    },
  }
}
