/** The options of a world of marks, drawn from its seed. */
import type { BusinessConfig } from '../../../config/config.ts'
import { businessThumbupSchema, thumbupSchema } from '../../../config/thumbup.ts'
import type { MarkKey, MarkRecord, ViewerId } from '../../../core/domain.ts'
import type { PipelineOptions } from '../../../subgraphs/thumbup/write/pipeline.ts'
import { START } from '../history/draws.ts'
import { drawRoles, type Role } from '../places.ts'
import type { LogOptions } from '../model-log.ts'
import type { Between, Chance, Dice } from '../dice.ts'
import type { MarkClientOptions } from './client.ts'

const DAY_MS = 86_400_000
/** Milliseconds after which a service gives up a call of the log or the record store. */
export const PATIENCE_MS = 1_000
/** Longer than any delay: outages, journals and late marks of clients included. */
export const TOMBSTONE_MS = 25_000
export const REGIONS = 2

const BUSINESS_DEFAULTS = businessThumbupSchema.parse({})
const THUMBUP_DEFAULTS = thumbupSchema.parse({})

export type DrawnMarkWorld = {
  /** Reconcilers run. A cache that loses everything needs them. */
  mends: boolean
  pipelineOptions: PipelineOptions
  clientOptions: MarkClientOptions
  logOptions: Omit<LogOptions, 'faults'>
  stored: StoredMarks
  roles: Role[]
  /** All processes have their journals on one disk. */
  sharesDisk: boolean
  stallChance: number
  stallMaxMs: number
  faultChance: number
  actChance: number
  isSkewed: boolean
  /** The log may lose uncommitted messages. */
  canLose: boolean
}

/** The initial content of the record store. */
export type StoredMarks = { rows: { key: MarkKey; record: MarkRecord }[]; owners: readonly ViewerId[]; isArchived: boolean }

export function drawMarkWorld({ between, chance }: Dice): DrawnMarkWorld {
  const businesses = drawBusinesses(between, chance)
  const mends = chance(0.5)
  const pipelineOptions = drawPipelineOptions(businesses, mends, between, chance)
  const crowd = drawCrowd(between, chance)
  const stallMaxMs = between(100, chance(0.3) ? 1_500 : 400)
  const stallChance = chance(0.5) ? 0 : 0.04
  const faultChance = chance(0.2) ? 0 : 0.025
  const actChance = between(10, 50) / 100
  const isSkewed = chance(0.3)
  const canLose = chance(0.2)
  const partitions = between(1, 2)
  const logOptions = { regions: REGIONS, partitions, batchMax: between(1, 4), retryMs: between(20, 300), sideBySide: true }
  const owners = ['o1', 'o2', '7'].slice(0, between(1, 3))
  const rows = drawRows(crowd, START, between, chance)
  const stored = { rows, owners: chance(0.5) ? owners : [], isArchived: chance(0.5) }
  const clientOptions = { start: START, businesses, ...crowd, owners, aheadMaxMs: 500, lateMaxMs: chance(0.5) ? 500 : 3_000 }
  const sharesDisk = chance(0.5)
  const roles = drawRoles(between, chance)
  return {
    ...{ mends, pipelineOptions, clientOptions, logOptions, stored, roles, sharesDisk },
    ...{ stallChance, stallMaxMs, faultChance, actChance, isSkewed, canLose },
  }
}

/** Two businesses with the same subject ids. */
export function drawBusinesses(between: Between, chance: Chance): BusinessConfig[] {
  const common = { enabled: true, conflict: 'newest', glanceMax: 5_000, finishedPercent: 95 } as const
  const thumbup = (): BusinessConfig['thumbup'] => ({ ...BUSINESS_DEFAULTS, likesCap: between(1, 5), dislikes: chance(0.8) })
  return [
    { number: 1, name: 'video', entity: 'Video', ...common, thumbup: thumbup() },
    { number: 2, name: 'comic', entity: 'Comic', ...common, thumbup: thumbup() },
  ]
}

export type Crowd = { viewers: ViewerId[]; devices: number; subjects: number; hotShare: number }

/** A few viewers and subjects; or many viewers on one hot subject; or the storm of one viewer. */
export function drawCrowd(between: Between, chance: Chance): Crowd {
  const names = ['7', '10', 'ann', '12', '13', 'bob', '15', '16', '17', '18']
  if (chance(0.25)) return { viewers: names.slice(0, between(6, 10)), devices: 1, subjects: 2, hotShare: 0.8 }
  if (chance(0.25)) return { viewers: names.slice(0, 1), devices: between(2, 5), subjects: between(1, 3), hotShare: 0.7 }
  return { viewers: names.slice(0, between(2, 4)), devices: between(1, 2), subjects: between(3, 7), hotShare: 0 }
}

/** `mends`: with a reconciler, which a cache that loses everything needs. Without it the outbox alone must suffice. */
export function drawPipelineOptions(
  businesses: readonly BusinessConfig[],
  mends: boolean,
  between: Between,
  chance: Chance,
): PipelineOptions {
  const flushAgeMaxMs = between(10, 300)
  const windowMs = chance(0.4) ? 0 : between(10, 200)
  return {
    stream: 'marks',
    regions: REGIONS,
    businesses,
    isOurs: () => true,
    thumbup: {
      ...THUMBUP_DEFAULTS,
      flushAgeMaxMs,
      flushKeysMax: between(1, 6),
      aggregatorKeysMax: chance(0.2) ? 3 : 1_000,
      windowMs,
      windowKeysMax: between(1, 30),
      persistKeysMax: between(1, 8),
      sweepAfterMs: flushAgeMaxMs + 2 * windowMs + between(1, 500),
      sweepEveryMs: between(200, 500),
      publishEveryMs: between(150, 500),
      tombstoneMs: TOMBSTONE_MS,
      purgeEveryMs: between(400, 2_500),
      archiveAfterDays: chance(0.6) ? between(200, 3_000) / DAY_MS : 'never',
      reconcileEveryMs: mends ? between(100, 400) : 1_000_000,
      hotTtlMs: chance(0.5) ? 0 : between(20, 300),
      hotBytesMax: 16_384,
    },
    guard: {
      checkEveryMs: between(20, 200),
      recordPatienceMs: PATIENCE_MS,
      logPatienceMs: PATIENCE_MS,
      recordReadsWaitingMax: 1_000 * between(1, 4),
    },
    journaling: { lookEveryMs: between(150, 400), entriesMax: between(1, 4), retryMinMs: between(10, 50), retryMaxMs: 200 },
  }
}

/** Marks of before the start, some of them so old that they are archived. */
export function drawRows(crowd: Crowd, start: number, between: Between, chance: Chance): { key: MarkKey; record: MarkRecord }[] {
  if (chance(0.3)) return []
  const rows: { key: MarkKey; record: MarkRecord }[] = []
  for (const viewer of crowd.viewers) {
    for (const business of [1, 2]) {
      for (let subject = 1; subject <= crowd.subjects; subject++) {
        if (chance(0.6)) continue
        const mark = chance(0.6) ? 'LIKE' : chance(0.5) ? 'DISLIKE' : 'NONE'
        const markedAt = start - between(10, 20) * 1_000
        rows.push({ key: { viewer, business, oid: String(subject) }, record: { mark, markedAt, version: markedAt * 1_024 } })
      }
    }
  }
  return rows
}
