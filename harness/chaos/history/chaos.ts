/** Chaos under reports of progress. */
import { makeLedger } from './ledger.ts'
import { runUnderFaults, type RunOptions, type RunReport } from './run.ts'
import { verify, type Verification } from './verify.ts'
import { startWriters } from './writers.ts'

export type ChaosReport = RunReport & { acknowledged: number; verification: Verification }

const HISTORY = { flushKeysMax: 50, flushAgeMaxMs: 300, sweepAfterMs: 2_000, sweepEveryMs: 500, timelineCap: 40 }
const REGIONS = 24
/** More entries than a hot timeline holds, so that pages and late reports need the record store. */
const SUBJECTS = 60
const LANES = 6
const WRITE_PAUSE_MAX_MS = 30
const REPORTS_MIN = 1_000

/**
 * A key that no flush carried is swept at this age, by the job that owns its region. The partitions of a dead job go to another one when
 * its session ends, which takes 10 s. A record that was put while the record store was down is merged with its row later. No such put is
 * under way after 10 s, and the next check takes up to 10 s more.
 */
export const CONVERGED_MAX_MS = HISTORY.sweepAfterMs + HISTORY.sweepEveryMs + 20_000

export function runChaos(options: RunOptions): Promise<ChaosReport> {
  const { seed, viewers } = options
  const setting = { jobs: 2, settings: { history: HISTORY, stores: { regions: REGIONS } } }
  return runUnderFaults(
    options,
    setting,
    ({ jobs }) => jobs,
    async ({ deployment, tally, onWrong }) => {
      const { gateways } = deployment
      const ledger = makeLedger()
      return {
        writers: startWriters(gateways, ledger, {
          ...{ seed, lanes: LANES, viewers, subjects: SUBJECTS, pauseMaxMs: WRITE_PAUSE_MAX_MS, onCall: tally.add, onWrong },
        }),
        isEnough: () => ledger.acknowledgedCount() > REPORTS_MIN,
        acknowledged: () => `${ledger.acknowledgedCount()} reports`,
        async look() {
          const stores = await deployment.openStores()
          try {
            return { acknowledged: ledger.acknowledgedCount(), verification: await verify(gateways, stores.records, ledger) }
          } finally {
            await stores.close()
          }
        },
      }
    },
  )
}
