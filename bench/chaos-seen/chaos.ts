/**
 * Writers of plays, viewers who are moved from a legacy Redis, and faults side by side; then quiet: the moves come to their end, and the workers are started once more, as slots at rest are folded by
 * whoever starts; then everything that was acknowledged is looked for. Two gateways and two workers on Redis, Kafka and
 * MariaDB of the run's own, with proxies in between.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { seededRandom } from '../../core/random.ts'
import { HOUR_MS, slotOf } from '../../core/time-ring.ts'
import type { OpenStores } from '../../stores/open.ts'
import { startDeployment, waitUntilConverged } from '../../test/support/deployment.ts'
import type { Role } from '../../test/support/role.ts'
import { makeFaults, type FaultFigures, type FaultOptions } from '../chaos/faults.ts'
import { makeTally, type Tally } from '../chaos/tally.ts'
import { makeLedger, type Way } from './ledger.ts'
import { startMigration, type ChaosMigration, type Migrating } from './migration.ts'
import { verifySeen, type SeenVerification } from './verify.ts'
import { startSeenWriters } from './writers.ts'

export type SeenChaosOptions = Omit<FaultOptions, 'cutMinMs'> & {
  seed: number
  viewers: number
  /** Of the command that moves the viewers' legacy sets. */
  commandKills: number
  /** Ends everything, whatever is under way. */
  signal?: AbortSignal
  progress(text: string): void
}

export type SeenChaosReport = {
  faults: FaultFigures
  tally: Tally
  acknowledged: Readonly<Record<Way, number>>
  verification: SeenVerification
  migration: ChaosMigration
  /** Sentences: answers that were wrong when they were given. */
  wrong: string[]
  /** Sentences: roles that ended by themselves. */
  deaths: string[]
  /** Ids nobody has played that were asked for, and those hidden. */
  strange: number
  strangeHidden: number
  convergedMs: number
  /** From the last start of the workers until slots at rest have nobody left. */
  foldedMs: number
}

const SLOTS = 6
const REGIONS = 24
/** Few shards, so that a worker is soon through all of them; early folds all the time; what was served stays for the whole run. */
export const EXISTENCE = {
  slots: SLOTS,
  shards: 2 * REGIONS,
  stagedMax: 10,
  issuedMinAgeMs: 4 * HOUR_MS,
  foldEveryMs: 300,
  settleMs: 1_000,
  purgeEveryMs: 1_000,
}
const BUSINESSES = [{ number: 1, name: 'video', entity: 'Video' }]
/** A set may come at any moment, and a request may wait for it. */
const LEGACY = { absentMs: 0, patienceMs: 20_000 }
const CUT_MIN_MS = 500
const LANES = 8
const WRITE_PAUSE_MAX_MS = 20
const QUIET_MAX_MS = 120_000

/** Partitions of a worker that died go to another one when its session has ended; then all slots are walked. */
export const SEEN_CONVERGED_MAX_MS = 25_000

export async function runSeenChaos(options: SeenChaosOptions): Promise<SeenChaosReport> {
  const { seed, viewers } = options
  const begun = performance.now()
  const progress = (text: string) => options.progress(`${((performance.now() - begun) / 1_000).toFixed(1).padStart(6)} s  ${text}`)
  progress(`seed ${seed}; starting Redis, Kafka, MariaDB, a legacy Redis, two gateways and two workers`)
  const deployment = await startDeployment({
    gateways: 2,
    jobs: 0,
    seenJobs: 2,
    proxies: true,
    moreServers: ['redis2'],
    settings: ({ redis2 }) => ({
      existence: { ...EXISTENCE, legacy: { ...LEGACY, urls: [`redis://127.0.0.1:${redis2.port}`] } },
      businesses: BUSINESSES,
      stores: { regions: REGIONS },
    }),
  })
  const abort = () => void deployment.remove()
  options.signal?.addEventListener('abort', abort)
  let stores: OpenStores | undefined
  let migrating: Migrating | undefined
  try {
    const { gateways, seenJobs, roles } = deployment
    stores = await deployment.openStores()
    const ledger = makeLedger()
    const faults = makeFaults({ ...deployment, jobs: seenJobs }, seededRandom(seed), { ...options, cutMinMs: CUT_MIN_MS })
    const tally = makeTally(faults.outSince)
    const wrong: string[] = []
    migrating = await startMigration(deployment, stores, ledger, {
      ...{ seed, viewers, kills: options.commandKills, slots: SLOTS, stagedMax: EXISTENCE.stagedMax, progress },
    })
    const writers = startSeenWriters(gateways, stores.seen, ledger, {
      ...{ seed, lanes: LANES, viewers, slots: SLOTS, pauseMaxMs: WRITE_PAUSE_MAX_MS, onCall: tally.add },
      onWrong(sentence) {
        wrong.push(sentence)
        progress(sentence)
      },
    })
    let figures: FaultFigures
    try {
      figures = await faults.run((text) =>
        progress(`${text}; ${ledger.plays().length} plays acknowledged, ${tally.errorCount()} errors, ${wrong.length} wrong answers`),
      )
      await migrating.killed
    } finally {
      await writers.stop()
    }
    progress('quiet')
    const convergedMs = await waitUntilConverged(deployment, QUIET_MAX_MS)
    await migrating.finish(gateways[0] as Role)
    progress('everything is staged; the workers and one gateway are started again')
    await Promise.all([...seenJobs, ...gateways.slice(0, 1)].map((role) => role.kill()))
    await Promise.all([...seenJobs, ...gateways.slice(0, 1)].map((role) => role.start()))
    const foldedMs = await waitUntilFolded(stores, QUIET_MAX_MS)
    progress('slots at rest are empty; looking for what was acknowledged')
    const verification = await verifySeen(gateways, stores.seen, ledger)
    progress(`verified: ${verification.plays} plays of ${verification.viewers} viewers, ${verification.filters} filters`)
    const migration = await migrating.report()
    const deaths = [...roles.flatMap((role) => role.deaths()), ...figures.failedStarts]
    const acknowledged = ledger.counts()
    return { faults: figures, tally, acknowledged, verification, migration, wrong, deaths, ...writers.figures(), convergedMs, foldedMs }
  } finally {
    options.signal?.removeEventListener('abort', abort)
    await migrating?.stop()
    await stores?.close()
    await deployment.remove()
  }
}

/** Milliseconds until nobody is left in any slot but this hour's, and that of the hour before, if it has just ended. */
async function waitUntilFolded({ seen }: OpenStores, maxMs: number): Promise<number> {
  const begun = performance.now()
  for (;;) {
    const now = Date.now()
    const busy = new Set([slotOf(now, SLOTS), slotOf(now - HOUR_MS / 60, SLOTS)])
    const left = (await seen.hot.countRing()).reduce((sum, count, slot) => sum + (busy.has(slot) ? 0 : count), 0)
    if (left === 0) return performance.now() - begun
    if (performance.now() - begun > maxMs)
      throw new Error(`after ${Math.round(maxMs / 1_000)} s there are ${left} viewers in slots at rest`)
    await sleep(100)
  }
}
