/** The options of a world of the feed, drawn from its seed. */
import type { CacheLayout } from '../../../config/cache.ts'
import { makeConfig, type Config } from '../../../config/config.ts'
import type { SectionSizes } from '../../../subgraphs/feed/read/sections.ts'
import type { ViewerId } from '../../../core/domain.ts'
import { FOLLOWS } from '../../../subgraphs/thumbup/businesses.ts'
import type { PipelineOptions } from '../../../subgraphs/thumbup/write/pipeline.ts'
import type { Between, Chance, Dice } from '../dice.ts'
import { START } from '../history/draws.ts'
import type { LogOptions } from '../model-log.ts'
import { drawRoles, type Role } from '../places.ts'
import { drawPipelineOptions, REGIONS } from '../thumbup/draws.ts'
import type { NodeOptions } from './model-nodes.ts'

/** Milliseconds after which a service gives up a call of the log or the record store. */
export const PATIENCE_MS = 1_000
/** Longer than any call without a stall. */
const SLOW_MS = 60_000
/** The most time that passes in a world. Counters remember events for an hour. */
export const LONG_TIMES_MAX_MS = 40 * 60_000
export { REGIONS }

const EMBEDDED = makeConfig([{ name: 'world', values: { stores: { regions: REGIONS } } }])
const DISTRIBUTED = makeConfig([
  {
    name: 'world',
    values: {
      stores: {
        regions: REGIONS,
        redis: { urls: ['redis://world:1'] },
        kafka: { brokers: ['world:1'] },
        mysql: { url: 'mysql://world@world/world' },
      },
    },
  },
])

export type FeedClientOptions = {
  start: number
  viewers: readonly ViewerId[]
  devices: number
  /** The share of restricted posts. */
  restrictedShare: number
  /** Milliseconds for which inputs are sent again. Client keys are remembered for longer. */
  againMs: number
  /** Milliseconds for which the hot store has all changes. */
  keepMs: number
}

export type CacheOptions = { ttlMs: number; nodePatienceMs: number; checkEveryMs: number; negativeTtlMs: number; loadsAtOnce: number }

export type DrawnFeedWorld = {
  clientOptions: FeedClientOptions
  /** Of the marks of follows. */
  pipelineOptions: PipelineOptions
  logOptions: Omit<LogOptions, 'faults'>
  /** With `feed`. */
  config: Config
  sizes: SectionSizes
  cacheOptions: CacheOptions
  nodeOptions: NodeOptions
  /** Undefined: each process caches in its own memory. */
  layout: CacheLayout | undefined
  rememberMs: number
  notesMax: number
  /** Milliseconds that a longset is stored. */
  setTtlMs: number
  roles: Role[]
  sharesDisk: boolean
  stallChance: number
  stallMaxMs: number
  faultChance: number
  /** Single regions of the hot store may be lost. */
  hasParts: boolean
  actChance: number
  isSkewed: boolean
}

export function drawFeedWorld({ between, chance }: Dice): DrawnFeedWorld {
  const stallMaxMs = between(100, chance(0.3) ? 1_500 : 400)
  const stallChance = chance(0.5) ? 0 : 0.04
  const nodeOptions = drawNodeOptions(between, chance)
  const cacheOptions = drawCacheOptions(between, chance)
  // A value leaves all pools `ttlMs` after its load. Several calls of the load may be held up.
  const rememberMs = cacheOptions.ttlMs + 4 * stallMaxMs + 3_000
  // Longer than all jobs are ever away: nothing is forgotten while something older waits to be persisted.
  const keepMs = Math.max(rememberMs, 60_000) + between(0, chance(0.5) ? 1_000 : 60_000)
  const names = ['7', '10', 'ann', '12', 'bob']
  return {
    clientOptions: {
      start: START,
      viewers: names.slice(0, between(2, 5)),
      devices: between(1, 2),
      restrictedShare: between(0, 60) / 100,
      againMs: keepMs - 2 * stallMaxMs - 500,
      keepMs,
    },
    pipelineOptions: drawFollowOptions(stallChance > 0, between, chance),
    logOptions: { regions: REGIONS, partitions: between(1, 2), batchMax: between(1, 4), retryMs: between(20, 300), sideBySide: true },
    config: drawConfig(keepMs, between, chance),
    sizes: { head: between(1, 3), outbox: between(3, 6), inbox: between(1, 5), rest: between(1, 4) },
    ...{ cacheOptions, nodeOptions, rememberMs },
    layout: drawLayout(between, chance),
    notesMax: chance(0.2) ? between(2, 10) : 1_000,
    setTtlMs: between(100, chance(0.5) ? 1_000 : 30_000),
    roles: drawRoles(between, chance),
    sharesDisk: chance(0.5),
    ...{ stallChance, stallMaxMs },
    faultChance: chance(0.2) ? 0 : 0.03,
    hasParts: chance(0.4),
    actChance: between(10, 50) / 100,
    isSkewed: chance(0.3),
  }
}

/** Small pools, or values that live for minutes. */
function drawCacheOptions(between: Between, chance: Chance): CacheOptions {
  return {
    ttlMs: chance(0.5) ? between(100, 2_000) : between(10_000, 100_000),
    nodePatienceMs: between(20, 100),
    checkEveryMs: between(20, 200),
    negativeTtlMs: between(0, 1_000),
    loadsAtOnce: between(1, 4),
  }
}

function drawNodeOptions(between: Between, chance: Chance): NodeOptions {
  return {
    delayMaxMs: between(0, 8),
    lateChance: chance(0.5) ? 0.2 : 0,
    lateMaxMs: between(20, 500),
    loseChance: chance(0.5) ? 0.1 : 0,
    oldChance: chance(0.5) ? 0.2 : 0,
  }
}

function drawLayout(between: Between, chance: Chance): CacheLayout | undefined {
  if (chance(0.2)) return undefined
  return changedLayout(between, chance)
}

/** A layout of some of a few nodes. The next layout may have a node in another pool. */
export function changedLayout(between: Between, chance: Chance): CacheLayout {
  const nodes = Array.from({ length: 8 }, (_, place) => `node${place + 1}:11211${chance(0.2) ? '*2' : ''}`)
  const take = (count: number): string[] => nodes.splice(between(0, nodes.length - count), count)
  const main = take(between(1, 2))
  const backup = chance(0.6) ? take(1) : undefined
  const l1 = Array.from({ length: between(0, 3) }, () => take(1))
  return { main, ...(backup === undefined ? {} : { backup }), l1 }
}

/** `canStall`: a record store that is slow counts as down. Without stalls it is never slow, however many calls wait. */
function drawFollowOptions(canStall: boolean, between: Between, chance: Chance): PipelineOptions {
  const options = drawPipelineOptions([FOLLOWS], chance(0.5), between, chance)
  // Follows that ended stay, so that the checker needs no model of forgetting. The world of marks has one.
  const never = 1_000_000_000
  const guard = canStall ? options.guard : { ...options.guard, recordPatienceMs: SLOW_MS, recordWaitMaxMs: SLOW_MS }
  return { ...options, guard, regions: REGIONS, thumbup: { ...options.thumbup, tombstoneMs: never, archiveAfterDays: 'never' } }
}

function drawConfig(keepMs: number, between: Between, chance: Chance): Config {
  const countsWindowMs = chance(0.4) ? 0 : between(10, 200)
  const flushAgeMaxMs = between(10, 300)
  const config = chance(0.5) ? EMBEDDED : DISTRIBUTED
  return {
    ...config,
    feed: {
      ...config.feed,
      ...{ keepMs, countsWindowMs, flushAgeMaxMs },
      flushKeysMax: between(1, 6),
      aggregatorKeysMax: chance(0.2) ? 6 : 1_000,
      persistKeysMax: between(1, 8),
      sweepAfterMs: flushAgeMaxMs + countsWindowMs + between(1, 500),
      sweepEveryMs: between(200, 500),
      tombstoneMs: keepMs + between(5_000, 120_000),
      purgeEveryMs: between(200, 2_000),
    },
  }
}
