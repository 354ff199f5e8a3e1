/**
 * Writers of marks and faults side by side; then quiet; then everything is looked for and added up. Two gateways and two jobs
 * on Redis, Kafka and MariaDB of the run's own, with proxies in between. Marks are given as of years ago, so that the archive
 * takes them while they are still being undone.
 */
import { seededRandom } from '../../core/random.ts'
import { startDeployment, waitUntilConverged } from '../../test/support/deployment.ts'
import { makeFaults, type FaultFigures, type FaultOptions } from '../chaos/faults.ts'
import { makeTally, type Tally } from '../chaos/tally.ts'
import { makeLedger } from './ledger.ts'
import { verifyMarks, type MarkVerification } from './verify.ts'
import { REGISTER, startMarkWriters } from './writers.ts'

export type MarkChaosOptions = Omit<FaultOptions, 'cutMinMs'> & {
  seed: number
  viewers: number
  /** Ends everything, whatever is under way. */
  signal?: AbortSignal
  progress(text: string): void
}

export type MarkChaosReport = {
  faults: FaultFigures
  tally: Tally
  acknowledged: number
  /** Registrations that failed because the record store was down, as they say they do. */
  refusedRegistrations: number
  verification: MarkVerification
  /** Sentences: answers that were wrong when they were given. */
  wrong: string[]
  /** Sentences: roles that ended by themselves. */
  deaths: string[]
  convergedMs: number
}

const DAYS = 86_400_000
/** Short, so that much happens between two faults. A mark that is undone is remembered for the whole run. */
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
/** More than the hot store keeps of a viewer, so that lookups and lists need the record store. */
const SUBJECTS = 60
const CUT_MIN_MS = 500
const LANES = 6
const WRITE_PAUSE_MAX_MS = 30
const QUIET_MAX_MS = 120_000

/** As of history (`../chaos/chaos.ts`): the sweep, and the partitions of a job that died. */
export const MARKS_CONVERGED_MAX_MS = THUMBUP.sweepAfterMs + THUMBUP.sweepEveryMs + 20_000

export async function runMarkChaos(options: MarkChaosOptions): Promise<MarkChaosReport> {
  const { seed, viewers } = options
  const begun = performance.now()
  const progress = (text: string) => options.progress(`${((performance.now() - begun) / 1_000).toFixed(1).padStart(6)} s  ${text}`)
  progress(`seed ${seed}; starting Redis, Kafka, MariaDB, two gateways and two jobs`)
  const deployment = await startDeployment({
    gateways: 2,
    jobs: 0,
    markJobs: 2,
    proxies: true,
    settings: { thumbup: THUMBUP, businesses: BUSINESSES, stores: { regions: REGIONS } },
  })
  const abort = () => void deployment.remove()
  options.signal?.addEventListener('abort', abort)
  try {
    const { gateways, markJobs, roles } = deployment
    const ledger = makeLedger()
    const faults = makeFaults({ ...deployment, jobs: markJobs }, seededRandom(seed), { ...options, cutMinMs: CUT_MIN_MS })
    const tally = makeTally(faults.outSince)
    const wrong: string[] = []
    let refusedRegistrations = 0
    const writers = startMarkWriters(gateways, ledger, {
      seed,
      lanes: LANES,
      viewers,
      subjects: SUBJECTS,
      pauseMaxMs: WRITE_PAUSE_MAX_MS,
      onCall(call) {
        const isRefused = call.operation === REGISTER && call.end.kind === 'error' && call.end.code === 'RECORD_STORE_UNAVAILABLE'
        if (isRefused && faults.outSince(call.begun).has('mariadb')) refusedRegistrations++
        else tally.add(call)
      },
      onWrong(sentence) {
        wrong.push(sentence)
        progress(sentence)
      },
    })
    let figures: FaultFigures
    try {
      figures = await faults.run((text) =>
        progress(`${text}; ${ledger.acknowledgedCount()} marks acknowledged, ${tally.errorCount()} errors, ${wrong.length} wrong answers`),
      )
    } finally {
      await writers.stop()
    }
    progress('quiet')
    const convergedMs = await waitUntilConverged(deployment, QUIET_MAX_MS)
    progress(`everything in place after ${(convergedMs / 1_000).toFixed(1)} s; looking for what was acknowledged`)
    const stores = await deployment.openStores()
    try {
      const verification = await verifyMarks(
        gateways,
        stores,
        ledger,
        deployment.config.stores.kafka as { brokers: string[]; topicPrefix: string },
      )
      progress(`verified: ${verification.keys} keys, ${verification.events} events`)
      const deaths = [...roles.flatMap((role) => role.deaths()), ...figures.failedStarts]
      const acknowledged = ledger.acknowledgedCount()
      return { faults: figures, tally, acknowledged, refusedRegistrations, verification, wrong, deaths, convergedMs }
    } finally {
      await stores.close()
    }
  } finally {
    options.signal?.removeEventListener('abort', abort)
    await deployment.remove()
  }
}
