/**
 * What a viewer has seen, read in the order that loses nothing: first what was served and what is staged, in one round trip of the
 * hot store; then the filters, as of that moment or later (`subgraphs/feed-existence/filter/filter-cache.ts` says why). Candidates stay in the process: they
 * are hashed once, and asked for in all filters.
 *
 * With the hot store down, the filters answer alone; with the record store down, what is staged and what of the filters is in
 * memory. The caller's collector says so; called without one, it rejects instead.
 *
 * What this process acknowledged and the hot store has not yet is added (`waiting-plays.ts`). While others may have acknowledged
 * something that it lacks (`backlog.ts`, `core/outage/write-watch.ts`), the collector says that too, though the hot store answers.
 *
 * While viewers are moved from a legacy store, one who is not yet has that one asked as well, about what is left: his mark stands beside
 * his filters, and a reader without either takes him for one who is not.
 */
import type { Degraded } from '../../../core/outage/degraded.ts'
import { saysDown } from '../../../core/outage/degraded.ts'
import { isTidemarkError } from '../../../core/errors.ts'
import type { BusinessNumber, ViewerId } from '../../../core/domain.ts'
import type { FilterCache } from './filter-cache.ts'
import type { MonthFilter } from './filter-loads.ts'
import { askAll, isFound } from './probes.ts'
import { makeViewerReads, type Arrears, type ReadViewer } from './viewer-reads.ts'
import type { MigrationMark } from '../migration/progress.ts'
import type { Random } from '../../../core/random.ts'
import { hashSeen } from '../filter/hash.ts'
import type { SeenReason } from '../../../loaders/feed-existence.ts'
import type { SeenStore } from '../stores/hot-store.ts'
import { makeCandidateTable } from './candidates.ts'
import type { LegacyReads } from '../migration/legacy-reads.ts'

export type Unseen = {
  /** In the order of the candidates. */
  ids: string[]
  droppedIssued: number
  droppedStaged: number
  /** With what the legacy store has of a viewer who is not migrated: it will be in his filters. */
  droppedFiltered: number
}

export type SeenReads = {
  read: ReadViewer
  /** `candidates` and `exclude` have been checked; each is answered once. */
  unseen(
    viewer: ViewerId,
    business: BusinessNumber,
    candidates: readonly string[],
    exclude: readonly string[],
    degraded?: Degraded,
  ): Promise<Unseen>
  /** In the order of `oids`; null where it was not seen as far as is known. */
  reasons(viewer: ViewerId, business: BusinessNumber, oids: readonly string[], degraded?: Degraded): Promise<(SeenReason | null)[]>
}

/** Told of some calls' outcome: who asked, with which filters, and what they dropped. */
export type UnseenSample = (viewer: ViewerId, business: BusinessNumber, filters: readonly MonthFilter[], dropped: readonly string[]) => void

export function makeSeenReads(
  hot: Pick<SeenStore, 'getSeenMany'>,
  cache: Pick<FilterCache, 'get' | 'getBlindly' | 'lastKnown'>,
  sample: UnseenSample,
  random: Random,
  arrears: Arrears,
  legacy?: Pick<LegacyReads, 'played'>,
): SeenReads {
  const tableOf = makeCandidateTable(random)
  const read = makeViewerReads(hot, cache, arrears)

  /** What the legacy store has of these. */
  async function legacyOf(
    viewer: ViewerId,
    business: BusinessNumber,
    migrated: MigrationMark,
    oids: readonly string[],
    degraded: Degraded | undefined,
  ): Promise<ReadonlyMap<string, number>> {
    if (legacy === undefined || migrated.has(business)) return NOTHING
    try {
      return await legacy.played(viewer, business, oids)
    } catch (error) {
      const isKnown = saysDown(error, 'legacyStore') || (isTidemarkError(error) && error.code === 'LEGACY_INVALID')
      if (degraded === undefined || !isKnown) throw error
      degraded.add('legacyStore')
      return NOTHING
    }
  }

  async function withoutLegacy(
    viewer: ViewerId,
    business: BusinessNumber,
    migrated: MigrationMark,
    ids: string[],
    degraded: Degraded | undefined,
  ): Promise<string[]> {
    const played = await legacyOf(viewer, business, migrated, ids, degraded)
    return played.size === 0 ? ids : ids.filter((id) => !played.has(id))
  }

  return {
    read,
    async unseen(viewer, business, candidates, exclude, degraded) {
      const { issued, staged, filters, migrated } = await read(viewer, business, degraded)
      // Nothing is awaited while the table is in use.
      const { hashes, drop, isLeft } = tableOf(business, candidates)
      drop(new Set(exclude))
      const droppedIssued = drop(issued)
      const droppedStaged = drop(staged)
      const found = askAll(filters, hashes)
      const unfiltered: string[] = []
      const dropped: string[] = []
      candidates.forEach((id, at) => {
        if (isLeft(at)) (isFound(found, at) ? dropped : unfiltered).push(id)
      })
      sample(viewer, business, filters, dropped)
      const ids = await withoutLegacy(viewer, business, migrated, unfiltered, degraded)
      return { ids, droppedIssued, droppedStaged, droppedFiltered: dropped.length + unfiltered.length - ids.length }
    },
    async reasons(viewer, business, oids, degraded) {
      const { issued, staged, filters, migrated } = await read(viewer, business, degraded)
      const found = askAll(filters, hashSeen(business, oids))
      const left = oids.filter((oid, at) => !staged.has(oid) && !isFound(found, at))
      const played = await legacyOf(viewer, business, migrated, left, degraded)
      return oids.map((oid, at) => {
        if (staged.has(oid) || played.has(oid)) return 'PLAYED'
        if (isFound(found, at)) return 'PLAYED_PROBABLY'
        return issued.has(oid) ? 'ISSUED' : null
      })
    },
  }
}

const NOTHING: ReadonlyMap<string, number> = new Map()
