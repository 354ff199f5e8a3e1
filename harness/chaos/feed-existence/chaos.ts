/**
 * Chaos under plays, while viewers are migrated from a legacy Redis. After quiet the migration completes. Then the workers are restarted,
 * because a starting worker folds all settled slots.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { HOUR_MS, slotOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import type { OpenStores } from '../../../cli/stores/history.ts'
import type { Role } from '../../deployment/role.ts'
import { runUnderFaults, type RunOptions, type RunReport } from '../history/run.ts'
import { makeLedger, type Way } from './ledger.ts'
import { startMigration, type ChaosMigration, type Migrating } from './migration.ts'
import { verifySeen, type SeenVerification } from './verify.ts'
import { startSeenWriters } from './writers.ts'

export type SeenChaosOptions = RunOptions & {
  /** Kills of the command that migrates the legacy sets. */
  commandKills: number
}

export type SeenChaosReport = RunReport & {
  acknowledged: Readonly<Record<Way, number>>
  verification: SeenVerification
  migration: ChaosMigration
  /** Requested ids without any play, and the number of them that were hidden. */
  strange: number
  strangeHidden: number
  /** From the last start of the workers until settled slots are empty. */
  foldedMs: number
}

const SLOTS = 6
const REGIONS = 24
/** Few shards, so that a worker soon completes all of them. Early folds happen all the time. Served subjects are kept for the whole run. */
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
/** A legacy set may appear at any moment, and a request may wait for it. */
const LEGACY = { absentMs: 0, patienceMs: 20_000 }
const LANES = 8
const WRITE_PAUSE_MAX_MS = 20
/** The least number of plays for each way of acknowledgement. */
const PLAYS_MIN: readonly [Way, number][] = [
  ['API', 300],
  ['log', 50],
  ['late server', 50],
]
const QUIET_MAX_MS = 120_000

/** The partitions of a dead worker go to another one when its session ends. Then that worker walks all slots. */
export const SEEN_CONVERGED_MAX_MS = 25_000

export function runSeenChaos(options: SeenChaosOptions): Promise<SeenChaosReport> {
  const { seed, viewers } = options
  return runUnderFaults(
    options,
    {
      ...{ jobs: 0, seenJobs: 2, moreServers: ['redis2'] },
      settings: ({ redis2 }) => ({
        existence: { ...EXISTENCE, legacy: { ...LEGACY, urls: [`redis://127.0.0.1:${redis2.port}`] } },
        businesses: BUSINESSES,
        stores: { regions: REGIONS },
      }),
    },
    ({ seenJobs }) => seenJobs,
    async ({ deployment, tally, onWrong, progress }) => {
      const { gateways, seenJobs } = deployment
      const stores = await deployment.openStores()
      const ledger = makeLedger()
      let migrating: Migrating | undefined
      const end = async (): Promise<void> => {
        await migrating?.stop()
        await stores.close()
      }
      try {
        migrating = await startMigration(deployment, stores, ledger, {
          ...{ seed, viewers, kills: options.commandKills, slots: SLOTS, stagedMax: EXISTENCE.stagedMax, progress },
        })
      } catch (error) {
        await end()
        throw error
      }
      const { killed, finish, report } = migrating
      const writers = startSeenWriters(gateways, stores.seen, ledger, {
        ...{ seed, lanes: LANES, viewers, slots: SLOTS, pauseMaxMs: WRITE_PAUSE_MAX_MS, onCall: tally.add, onWrong },
      })

      async function look() {
        await finish(gateways[0] as Role)
        progress('everything is staged; the workers and one gateway are started again')
        const again = [...seenJobs, ...gateways.slice(0, 1)]
        await Promise.all(again.map((role) => role.kill()))
        await Promise.all(again.map((role) => role.start()))
        const foldedMs = await waitUntilFolded(stores, QUIET_MAX_MS)
        progress('settled slots are empty; looking up the acknowledged plays')
        const verification = await verifySeen(gateways, stores.seen, ledger)
        progress(`verified: ${verification.plays} plays of ${verification.viewers} viewers, ${verification.filters} filters`)
        return { acknowledged: ledger.counts(), verification, migration: await report(), ...writers.figures(), foldedMs }
      }

      const counts = ledger.counts()
      return {
        ...{ writers, look, end },
        last: killed,
        isEnough: () => PLAYS_MIN.every(([way, least]) => counts[way] > least),
        acknowledged: () =>
          Object.entries(counts)
            .map(([way, count]) => `${count} plays by ${way}`)
            .join(', '),
      }
    },
  )
}

/** Milliseconds until all slots are empty except the current one, and the previous one if its hour has just ended. */
async function waitUntilFolded({ seen }: OpenStores, maxMs: number): Promise<number> {
  const begun = performance.now()
  for (;;) {
    const now = Date.now()
    const busy = new Set([slotOf(now, SLOTS), slotOf(now - HOUR_MS / 60, SLOTS)])
    const left = (await seen.hot.countRing()).reduce((sum, count, slot) => sum + (busy.has(slot) ? 0 : count), 0)
    if (left === 0) return performance.now() - begun
    if (performance.now() - begun > maxMs)
      throw new Error(`after ${Math.round(maxMs / 1_000)} s there are ${left} viewers in settled slots`)
    await sleep(100)
  }
}
