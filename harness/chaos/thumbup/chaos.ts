/** Chaos under marks. Their times are years ago, so that the archive takes them while they are still being undone. */
import { runUnderFaults, type RunOptions, type RunReport } from '../history/run.ts'
import { makeLedger } from './ledger.ts'
import { verifyMarks, type MarkVerification } from './verify.ts'
import { startMarkWriters } from './writers.ts'
import { REGISTER } from './writer-options.ts'

export type MarkChaosReport = RunReport & {
  acknowledged: number
  /** Registrations that failed because the record store was down, which is documented. */
  refusedRegistrations: number
  verification: MarkVerification
}

const DAYS = 86_400_000
/** Short intervals, so that much happens between two faults. The tombstone of an undone mark is kept for the whole run. */
export const THUMBUP = {
  flushKeysMax: 50,
  flushAgeMaxMs: 200,
  windowMs: 400,
  sweepAfterMs: 2_000,
  sweepEveryMs: 500,
  publishEveryMs: 500,
  purgeEveryMs: 2_000,
  tombstoneMs: 3_650 * DAYS,
  reconcileEveryMs: 500,
}
const BUSINESSES = [{ number: 1, name: 'video', entity: 'Video', thumbup: { likesCap: 20 } }]
const REGIONS = 24
/** More marks than the hot store keeps for a viewer, so that lookups and lists need the record store. */
const SUBJECTS = 60
const LANES = 6
const WRITE_PAUSE_MAX_MS = 30
/** At most a third of them are transitions, because many marks of one viewer change few keys. */
const MARKS_MIN = 3_000

/** As in the run of history (`../history/chaos.ts`): the sweep, and the partitions of a dead job. */
export const MARKS_CONVERGED_MAX_MS = THUMBUP.sweepAfterMs + THUMBUP.sweepEveryMs + 20_000

export function runMarkChaos(options: RunOptions): Promise<MarkChaosReport> {
  const { seed, viewers } = options
  const setting = { jobs: 0, markJobs: 2, settings: { thumbup: THUMBUP, businesses: BUSINESSES, stores: { regions: REGIONS } } }
  return runUnderFaults(
    options,
    setting,
    ({ markJobs }) => markJobs,
    async ({ deployment, faults, tally, onWrong, progress }) => {
      const { gateways } = deployment
      const ledger = makeLedger()
      let refusedRegistrations = 0
      const writers = startMarkWriters(gateways, ledger, {
        ...{ seed, lanes: LANES, viewers, subjects: SUBJECTS, pauseMaxMs: WRITE_PAUSE_MAX_MS, onWrong },
        onCall(call) {
          const isRefused = call.operation === REGISTER && call.end.kind === 'error' && call.end.code === 'RECORD_STORE_UNAVAILABLE'
          if (isRefused && faults.outSince(call.begun).has('mariadb')) refusedRegistrations++
          else tally.add(call)
        },
      })
      return {
        writers,
        isEnough: () => ledger.acknowledgedCount() > MARKS_MIN,
        acknowledged: () => `${ledger.acknowledgedCount()} marks`,
        async look() {
          const kafka = deployment.config.stores.kafka as { brokers: string[]; topicPrefix: string }
          const stores = await deployment.openStores()
          try {
            const verification = await verifyMarks(gateways, stores, ledger, kafka)
            progress(`verified: ${verification.keys} keys, ${verification.events} events`)
            return { acknowledged: ledger.acknowledgedCount(), refusedRegistrations, verification }
          } finally {
            await stores.close()
          }
        },
      }
    },
  )
}
