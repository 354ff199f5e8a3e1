/** The options of a world of history, drawn from its seed. */
import type { Between, Chance, Dice } from '../dice.ts'
import type { ClientOptions } from './client.ts'
import type { LogOptions } from '../model-log.ts'
import { CLEARINGS, type Clearing } from './model-timelines.ts'
import { ALL_BUSINESSES } from '../../../core/domain.ts'
import { DEFAULT_RULES, type RewardRules } from '../../../core/rewards.ts'
import { drawRoles, type Role } from '../places.ts'
import type { ProcessOptions } from './process.ts'

const DAY_MS = 86_400_000
/** Three seconds before midnight, so that days change. */
export const START = 20_000 * DAY_MS - 3_000
export const REGIONS = [0, 1]
/** Milliseconds after which a service gives up a call of the log or the record store. */
export const PATIENCE_MS = 1_000
const PER_VIEWER: RewardRules = () => ({ timeZone: 'Pacific/Kiritimati', business: ALL_BUSINESSES })
/** Longer than any call is held up. */
export const PUT_MAX_MS = 2_500

export type DrawnWorld = {
  processOptions: ProcessOptions
  clientOptions: ClientOptions
  logOptions: Omit<LogOptions, 'faults'>
  clearing: Clearing
  roles: Role[]
  /** All processes have their journals on one disk. */
  sharesDisk: boolean
  stallChance: number
  stallMaxMs: number
  faultChance: number
  actChance: number
  skewMaxMs: number
  /** The log may lose uncommitted messages. */
  canLose: boolean
}

export function drawWorld({ between, chance, pick }: Dice): DrawnWorld {
  const processOptions = drawProcessOptions(between, chance)
  const clientOptions = {
    start: START,
    viewers: ['7', '10', 'ann'].slice(0, between(1, 3)),
    devices: between(1, 3),
    subjects: between(3, 6),
    aheadMaxMs: 500,
    lateMaxMs: chance(0.5) ? 500 : 3_000,
    glanceMax: 5_000,
  }
  const stallMaxMs = between(100, 1_500)
  const stallChance = chance(0.5) ? 0 : 0.04
  const faultChance = chance(0.2) ? 0 : 0.02
  const actChance = between(10, 50) / 100
  const skewMaxMs = chance(0.3) ? (chance(0.5) ? 100 : 1_500) : 0
  const canLose = chance(0.2)
  const clearing = pick(CLEARINGS)
  const logOptions = { regions: REGIONS.length, partitions: between(1, 2), batchMax: between(1, 4), retryMs: between(20, 300) }
  const roles = drawRoles(between, chance)
  const sharesDisk = chance(0.5)
  return {
    ...{ processOptions, clientOptions, logOptions, clearing, roles, sharesDisk },
    ...{ stallChance, stallMaxMs, faultChance, actChance, skewMaxMs, canLose },
  }
}

function drawProcessOptions(between: Between, chance: Chance): ProcessOptions {
  const ageMaxMs = between(20, 400)
  return {
    regions: REGIONS.length,
    timelineCap: between(1, 4),
    // Without a draw of its own, so that earlier seeds replay.
    rules: ageMaxMs % 2 === 0 ? DEFAULT_RULES : PER_VIEWER,
    purgeRowsMax: between(1, 3),
    aggregator: { keysMax: between(1, 6), ageMaxMs, heldMax: chance(0.2) ? 3 : 1_000 },
    flusher: { directMax: between(0, 2), directWaitingMax: between(0, 3) },
    journaling: {
      lookEveryMs: between(200, 600),
      entriesMax: between(1, 4),
      retryMinMs: between(10, 50),
      retryMaxMs: 200,
      putMaxMs: PUT_MAX_MS,
    },
    guard: {
      checkEveryMs: between(20, 200),
      recordPatienceMs: PATIENCE_MS,
      logPatienceMs: PATIENCE_MS,
      recordReadsWaitingMax: 1_000 * between(1, 4),
    },
    sweepAfterMs: ageMaxMs + between(1, 1_000),
    sweepEveryMs: between(200, 600),
    persistKeysMax: between(1, 8),
    retentionMs: chance(0.2) ? 30_000 : undefined,
    purgeEveryMs: 1_500,
  }
}
