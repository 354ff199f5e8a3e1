/**
 * Writers and faults side by side; then quiet; then everything acknowledged is looked for. Two gateways and two jobs on
 * Redis, Kafka and MariaDB of the run's own, with proxies in between.
 */
import { seededRandom } from '../../core/random.ts'
import { startDeployment, waitUntilConverged } from '../../test/support/deployment.ts'
import { makeFaults, type FaultFigures, type FaultOptions } from './faults.ts'
import { makeLedger } from './ledger.ts'
import { makeTally, type Tally } from './tally.ts'
import { verify, type Verification } from './verify.ts'
import { startWriters } from './writers.ts'

export type ChaosOptions = Omit<FaultOptions, 'cutMinMs'> & {
  seed: number
  viewers: number
  /** Ends everything, whatever is under way. */
  signal?: AbortSignal
  progress(text: string): void
}

export type ChaosReport = {
  faults: FaultFigures
  tally: Tally
  acknowledged: number
  verification: Verification
  /** Sentences: answers that were wrong when they were given. */
  wrong: string[]
  /** Sentences: roles that ended by themselves. */
  deaths: string[]
  convergedMs: number
}

const HISTORY = { flushKeysMax: 50, flushAgeMaxMs: 300, sweepAfterMs: 2_000, sweepEveryMs: 500, timelineCap: 40 }
const REGIONS = 24
/** More than a hot timeline holds, so that pages and late reports need the record store. */
const SUBJECTS = 60
const CUT_MIN_MS = 500
const LANES = 6
const WRITE_PAUSE_MAX_MS = 30
const QUIET_MAX_MS = 120_000

/**
 * What no flush carried is swept when it is that old, by the job that owns its region. The partitions of a job that died
 * go to another when the session of the dead one is over, which takes 10 s. What was put while the record store was down is
 * merged with its row when no put of that time can be under way, which takes 10 s more, and up to 10 s to be looked at.
 */
export const CONVERGED_MAX_MS = HISTORY.sweepAfterMs + HISTORY.sweepEveryMs + 20_000

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, viewers } = options
  const begun = performance.now()
  const progress = (text: string) => options.progress(`${((performance.now() - begun) / 1_000).toFixed(1).padStart(6)} s  ${text}`)
  progress(`seed ${seed}; starting Redis, Kafka, MariaDB, two gateways and two jobs`)
  const deployment = await startDeployment({
    gateways: 2,
    jobs: 2,
    proxies: true,
    settings: { history: HISTORY, stores: { regions: REGIONS } },
  })
  const abort = () => void deployment.remove()
  options.signal?.addEventListener('abort', abort)
  try {
    const { gateways, roles } = deployment
    const ledger = makeLedger()
    const faults = makeFaults(deployment, seededRandom(seed), { ...options, cutMinMs: CUT_MIN_MS })
    const tally = makeTally(faults.outSince)
    const wrong: string[] = []
    const writers = startWriters(gateways, ledger, {
      seed,
      lanes: LANES,
      viewers,
      subjects: SUBJECTS,
      pauseMaxMs: WRITE_PAUSE_MAX_MS,
      onCall: tally.add,
      onWrong(sentence) {
        wrong.push(sentence)
        progress(sentence)
      },
    })
    let figures: FaultFigures
    try {
      figures = await faults.run((text) =>
        progress(
          `${text}; ${ledger.acknowledgedCount()} reports acknowledged, ${tally.errorCount()} errors, ${wrong.length} wrong answers`,
        ),
      )
    } finally {
      await writers.stop()
    }
    progress('quiet')
    const convergedMs = await waitUntilConverged(deployment, QUIET_MAX_MS)
    progress(`everything in place after ${(convergedMs / 1_000).toFixed(1)} s; looking for what was acknowledged`)
    const stores = await deployment.openStores()
    try {
      const verification = await verify(gateways, stores.records, ledger)
      const deaths = [...roles.flatMap((role) => role.deaths()), ...figures.failedStarts]
      return { faults: figures, tally, acknowledged: ledger.acknowledgedCount(), verification, wrong, deaths, convergedMs }
    } finally {
      await stores.close()
    }
  } finally {
    options.signal?.removeEventListener('abort', abort)
    await deployment.remove()
  }
}
