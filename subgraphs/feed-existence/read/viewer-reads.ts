/**
 * Reads a viewer's state in a business: first the hot store, then the filters as of that moment or later. `filter-cache.ts` explains the
 * order.
 */
import type { BusinessNumber, ViewerId } from '../../../core/domain.ts'
import { saysDown, type Degraded, noteOrThrow } from '../../../core/outage/degraded.ts'
import { apartIfPartIsOut, concernsSomeOnly } from '../../../core/outage/part-outage.ts'
import { makeSharedLookup } from '../../../loaders/lookup/shared.ts'
import { NOT_MIGRATED, type MigrationMark } from '../migration/progress.ts'
import type { HotSeen, SeenStore } from '../stores/hot-store.ts'
import type { FilterCache } from './filter-cache.ts'
import type { MonthFilter, ViewerFilters } from './filter-loads.ts'

/** The known state of a viewer in a business. */
export type ViewerSeen = {
  /** The last time each was served. */
  issued: ReadonlyMap<string, number>
  staged: ReadonlyMap<string, number>
  /** The newest month first. */
  filters: readonly MonthFilter[]
  migrated: MigrationMark
}

/** Acknowledged plays that the hot store lacks, although it answers. */
export type Arrears = {
  /** Plays that this process acknowledged. To be read before the hot store. */
  waitingOf(viewer: ViewerId, business: BusinessNumber): ReadonlyMap<string, number>
  /** True if the hot store may lack plays that other processes acknowledged. */
  mayLack(viewer: ViewerId): boolean
}

type HotKey = { viewer: ViewerId; business: BusinessNumber }

export type ReadViewer = (viewer: ViewerId, business: BusinessNumber, degraded: Degraded) => Promise<ViewerSeen>

const NOTHING: ReadonlyMap<string, number> = new Map()

export function makeViewerReads(
  hot: Pick<SeenStore, 'getSeenMany'>,
  cache: Pick<FilterCache, 'get' | 'getBlindly' | 'lastKnown'>,
  arrears: Arrears,
): ReadViewer {
  // Viewers whose part of the store is down get the error. Other viewers of the same call get their answers.
  const getSeen = makeSharedLookup<HotKey, HotSeen | Error>((keys) => apartIfPartIsOut(keys, getSeenTogether), keyTextOf)

  async function getSeenTogether(keys: readonly HotKey[]): Promise<(HotSeen | Error)[]> {
    try {
      return await hot.getSeenMany(keys)
    } catch (error) {
      if (!saysDown(error, 'hotStore') || concernsSomeOnly(error, keys)) throw error
      return keys.map(() => error as Error)
    }
  }

  async function read(viewer: ViewerId, business: BusinessNumber, degraded: Degraded): Promise<ViewerSeen> {
    const lackedBefore = arrears.mayLack(viewer)
    const waiting = arrears.waitingOf(viewer, business)
    const [seen] = (await getSeen([{ viewer, business }])) as [HotSeen | Error]
    if (seen instanceof Error) {
      degraded.add('hotStore')
      return { issued: NOTHING, staged: waiting, ...(await filtersOf(viewer, undefined, degraded)) }
    }
    if (lackedBefore || arrears.mayLack(viewer)) degraded.add('hotStore')
    return {
      issued: new Map(seen.issued.map(({ oid, issuedAt }) => [oid, issuedAt])),
      staged: withWaiting(seen.staged, waiting),
      ...(await filtersOf(viewer, seen.folds, degraded)),
    }
  }

  async function filtersOf(
    viewer: ViewerId,
    folds: number | undefined,
    degraded: Degraded,
  ): Promise<Pick<ViewerFilters, 'filters' | 'migrated'>> {
    try {
      const { filters, unreadable, migrated } = await (folds === undefined ? cache.getBlindly(viewer) : cache.get(viewer, folds))
      if (unreadable > 0) degraded.add('recordStore')
      return { filters, migrated }
    } catch (error) {
      noteOrThrow(error, 'recordStore', degraded)
      const { filters, migrated } = cache.lastKnown(viewer) ?? { filters: [], migrated: NOT_MIGRATED }
      return { filters, migrated }
    }
  }

  return read
}

/** A staged play may also wait, since the job stages it from the log. */
export function withWaiting(staged: HotSeen['staged'], waiting: ReadonlyMap<string, number>): Map<string, number> {
  const all = new Map(waiting)
  for (const { oid, playedAt } of staged) all.set(oid, Math.max(playedAt, all.get(oid) ?? 0))
  return all
}

function keyTextOf({ viewer, business }: HotKey): string {
  return `${business}:${viewer}`
}
