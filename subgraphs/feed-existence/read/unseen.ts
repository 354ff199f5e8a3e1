/**
 * Reads the subjects that a viewer has seen, in an order that loses nothing. Issued and staged subjects come first, in one round trip of
 * the hot store. The filters come second, as of that moment or later (`filter-cache.ts` explains why). Candidates stay in the process: they
 * are hashed once, and all filters are probed.
 *
 * If the hot store is down, the filters answer alone. If the record store is down, staged plays and cached filters answer. The collector
 * notes the missing store.
 *
 * Plays that this process acknowledged but the hot store still lacks are added (`waiting-plays.ts`). While other processes may have
 * acknowledged such plays (`backlog.ts`, `core/outage/write-watch.ts`), the collector notes the hot store although it answers.
 *
 * During a migration, the legacy store is asked about the remaining candidates of viewers who are not migrated. The mark is stored beside
 * the filters; without either, a viewer counts as not migrated.
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
  /** Includes plays in the legacy store of a viewer who is not migrated, since they will be in the filters. */
  droppedFiltered: number
}

export type SeenReads = {
  read: ReadViewer
  /** `candidates` and `exclude` have been checked. Each is answered once. */
  unseen(
    viewer: ViewerId,
    business: BusinessNumber,
    candidates: readonly string[],
    exclude: readonly string[],
    degraded: Degraded,
  ): Promise<Unseen>
  /** In the order of `oids`; null if it was not seen as far as is known. */
  reasons(viewer: ViewerId, business: BusinessNumber, oids: readonly string[], degraded: Degraded): Promise<(SeenReason | null)[]>
}

/** Called with the result of some calls: the viewer, the probed filters, and the ids they dropped. */
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

  /** The plays among `oids` that the legacy store has. */
  async function legacyOf(
    viewer: ViewerId,
    business: BusinessNumber,
    migrated: MigrationMark,
    oids: readonly string[],
    degraded: Degraded,
  ): Promise<ReadonlyMap<string, number>> {
    if (legacy === undefined || migrated.has(business)) return NOTHING
    try {
      return await legacy.played(viewer, business, oids)
    } catch (error) {
      const isKnown = saysDown(error, 'legacyStore') || (isTidemarkError(error) && error.code === 'LEGACY_INVALID')
      if (!isKnown) throw error
      degraded.add('legacyStore')
      return NOTHING
    }
  }

  async function withoutLegacy(
    viewer: ViewerId,
    business: BusinessNumber,
    migrated: MigrationMark,
    ids: string[],
    degraded: Degraded,
  ): Promise<string[]> {
    const played = await legacyOf(viewer, business, migrated, ids, degraded)
    return played.size === 0 ? ids : ids.filter((id) => !played.has(id))
  }

  return {
    read,
    async unseen(viewer, business, candidates, exclude, degraded) {
      const { issued, staged, filters, migrated } = await read(viewer, business, degraded)
      // No await while the shared table is in use.
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
