/** The options of a world of feed existence, drawn from its seed. */
import { makeConfig, type Config } from '../../../config/config.ts'
import type { RingShape } from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import type { SeenClientOptions } from './plays.ts'
import { BUSINESS_NAMES } from './universe.ts'
import { BUSINESSES } from './universe.ts'
import type { GuardOptions } from '../../../core/outage/guard.ts'
import type { Between, Chance, Dice } from '../dice.ts'
import { drawRoles, type Role } from '../places.ts'
import type { LogOptions } from '../model-log.ts'

export const REGIONS = 2
export const PATIENCE_MS = 1_000
const MINUTE_MS = 60_000

const BASE = makeConfig([
  {
    name: 'simulation',
    values: {
      stores: { regions: REGIONS },
      existence: { shards: REGIONS },
      businesses: BUSINESSES.map((number, index) => ({ number, name: BUSINESS_NAMES[index], entity: index === 0 ? 'Video' : 'Article' })),
    },
  },
])

export type DrawnSeenWorld = {
  config: Config
  guard: GuardOptions
  /** No faults, and no call is held up. */
  isCalm: boolean
  shape: RingShape
  logOptions: Omit<LogOptions, 'faults'>
  /** History is kept, from which filters can be rebuilt. */
  hasHistory: boolean
  isRewarding: boolean
  clientOptions: SeenClientOptions
  roles: Role[]
  startedAt: number
  stallChance: number
  stallMaxMs: number
  faultChance: number
  actChance: number
  leapChance: number
}

export function drawSeenWorld({ between, chance }: Dice): DrawnSeenWorld {
  const config = drawConfig(between, chance)
  const guard = drawGuard(between)
  const isCalm = chance(0.2)
  const stallMaxMs = between(100, 400)
  const startedAt = drawStart(between, chance)
  const stallChance = isCalm || chance(0.5) ? 0 : 0.04
  const faultChance = isCalm ? 0 : 0.025
  const actChance = between(10, 50) / 100
  const leapChance = between(5, 30) / 1_000
  const skewMaxMs = chance(0.5) ? 0 : 10_000
  const shape = drawShape(between)
  const partitions = between(1, 2)
  const logOptions = { regions: REGIONS, partitions, batchMax: between(1, 4), retryMs: between(20, 300), sideBySide: true }
  const hasHistory = chance(0.5)
  const isRewarding = chance(0.5)
  const viewers = ['7', '10', 'ann', 'bob'].slice(0, between(1, 4))
  const { monthsBefore, futureMaxMs } = config.existence
  const clientOptions = { viewers, devices: between(1, 3), oids: between(3, 11), monthsBefore, futureMaxMs, skewMaxMs }
  const roles = drawRoles(between, chance)
  return {
    ...{ config, guard, isCalm, shape, logOptions, hasHistory, isRewarding, clientOptions, roles },
    ...{ startedAt, stallChance, stallMaxMs, faultChance, actChance, leapChance },
  }
}

export function drawShape(between: Between): RingShape {
  return { slots: between(3, 6), shards: REGIONS * between(1, 3) }
}

export function drawConfig(between: Between, chance: Chance): Config {
  const issuedCap = between(1, 5)
  return {
    ...BASE,
    history: { ...BASE.history, sweepAfterMs: between(1, 10) * MINUTE_MS, sweepEveryMs: between(15, 45) * MINUTE_MS },
    existence: {
      ...BASE.existence,
      monthsBefore: chance(0.7) ? 3 : between(0, 4),
      issuedCap,
      issuedMinAgeMs: chance(0.3) ? 0 : between(1, 20 * MINUTE_MS),
      issuedHardCap: issuedCap + between(0, 6),
      stagedMax: chance(0.4) ? between(1, 4) : 2_000,
      futureMaxMs: 5 * MINUTE_MS,
      // For two or three viewers, or for all.
      cacheBytesMax: chance(0.3) ? 1_500 : 65_536,
      cacheTtlMs: chance(0.7) ? 60 * MINUTE_MS : between(0, 60 * MINUTE_MS),
      utcOffsetMinutes: chance(0.5) ? 0 : between(-720, 840),
      settleMs: MINUTE_MS,
      foldEveryMs: between(3, 25) * MINUTE_MS,
      foldKeysMax: between(1, 4),
      foldsAtOnce: between(1, 3),
      purgeEveryMs: between(20, 120) * MINUTE_MS,
      sampleEvery: 0,
    },
  }
}

export function drawGuard(between: Between): GuardOptions {
  return {
    checkEveryMs: between(20, 500),
    recordPatienceMs: PATIENCE_MS,
    logPatienceMs: PATIENCE_MS,
    recordReadsWaitingMax: 1_000 * between(1, 4),
  }
}

/** Close to the end of an hour, a month or a year. */
export function drawStart(between: Between, chance: Chance): number {
  const month = [Date.UTC(2026, 11, 31, 22), Date.UTC(2026, 9, 31, 20), Date.UTC(2028, 1, 29, 21), Date.UTC(2027, 5, 14, 9)][
    between(0, 3)
  ] as number
  return month + between(0, chance(0.5) ? 60 * MINUTE_MS : 6 * 60 * MINUTE_MS)
}
