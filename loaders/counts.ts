/**
 * Counts of subjects, down a ladder: this process's own cache for what is hot; the count cache, by multi-get; for what it
 * misses the record store, in one batch shared by all who wait (zeros are cached as well); the last known value; null.
 *
 * While the count cache is down everything counts as hot, so that what is asked for often does not reach the record store
 * each time; what its limits refuse is answered with the last known value.
 */
import { saysDown, UNAVAILABLE, type Degraded, type StoreName } from '../core/degraded.ts'
import type { Clock } from '../core/clock.ts'
import type { Subject, SubjectCounts } from '../core/domain.ts'
import { TidemarkError } from '../core/errors.ts'
import { makeCachedLookup, type CachedLookupFigures, type Loaded } from '../core/cached-lookup.ts'
import { makeHotKeys, type HotKey } from '../core/hot-keys.ts'
import type { LocalCacheFigures } from '../core/local-cache.ts'
import type { Random } from '../core/random.ts'
import { makeSieveCache } from '../core/sieve-cache.ts'
import type { CountCache, CountedSubject } from '../stores/count-cache.ts'
import type { MarkRecords } from '../stores/mark-records.ts'
import { makeSharedLookup } from './shared-lookup.ts'

export type CountReadsOptions = {
  /** Milliseconds for which a hot subject is served by this process alone; 0: never. */
  hotTtlMs: number
  /** Bytes the process's own cache may take. */
  hotBytesMax: number
  /** Is the count cache known to be down? */
  isCacheDown(): boolean
}

export type CountReads = {
  /** In order; null where no store that answers knows. Rejects, without a collector, with the code of the store that is down. */
  getMany(subjects: readonly Subject[], degraded?: Degraded): Promise<(SubjectCounts | null)[]>
  /** Might `getMany` answer with what is as old as `hotTtlMs`? */
  mayBeOld(subject: Subject): boolean
  /** As `getMany`, but as the stores have it now. */
  getFresh(subjects: readonly Subject[], degraded?: Degraded): Promise<(SubjectCounts | null)[]>
  /** This process changed these counts, or heard of it: what it keeps is old. They are the last known ones from now on. */
  learn(counted: readonly CountedSubject[]): void
  /** Asks the record store, and keeps what it says if it is newer. */
  reload(subjects: readonly Subject[]): Promise<SubjectCounts[]>
  figures(): CountReadsFigures
}

export type CountReadsFigures = {
  local: CachedLookupFigures & Pick<LocalCacheFigures, 'bytes' | 'entries' | 'evictions'>
  /** Subjects whose counts were read from the record store. */
  fromRecords: number
  /** Answers that were the last known value. */
  lastKnown: number
  hot: HotKey[]
}

/** With the stores it was found without. */
type Found = { counts: SubjectCounts | null; without: readonly StoreName[] }

/** An entry's counts and their wrapper, roughly. */
const BYTES_PER_COUNTS = 96
const BYTES_PER_ENTRY = 256
const NOTHING_MISSING: readonly StoreName[] = []

export function makeCountReads(
  clock: Clock,
  random: Random,
  cache: CountCache,
  records: Pick<MarkRecords, 'getCountsMany'>,
  options: CountReadsOptions,
): CountReads {
  const hotKeys = makeHotKeys(clock, random)
  const entriesMax = Math.max(16, Math.floor(options.hotBytesMax / 2 / BYTES_PER_ENTRY))
  const local = makeSieveCache<Loaded<Found>>(clock, { entriesMax, bytesMax: options.hotBytesMax / 2 })
  /** Invalidating makes the lookup forget what it knew; what was learnt instead is here. */
  const learnt = makeSieveCache<SubjectCounts>(clock, { entriesMax, bytesMax: options.hotBytesMax / 2 })
  const figures = { fromRecords: 0, lastKnown: 0 }
  const fromRecords = makeSharedLookup<Subject, SubjectCounts>(reload, textOf)
  const lookup = makeCachedLookup<Subject, Found>(clock, local, load, {
    ttlMs: options.hotTtlMs,
    isHot: (text) => hotKeys.add(text) || options.isCacheDown(),
    textOf,
    bytesOf: () => BYTES_PER_COUNTS,
    isSame,
  })

  async function reload(subjects: readonly Subject[]): Promise<SubjectCounts[]> {
    const counts = await records.getCountsMany(subjects)
    figures.fromRecords += subjects.length
    // A cache that does not take them is told of by its breaker; the next miss tries again.
    await cache.putCounts(subjects.map((subject, index) => ({ ...subject, counts: counts[index] as SubjectCounts }))).catch(() => undefined)
    return counts
  }

  /** Rejects only for what is no outage. */
  async function load(subjects: readonly Subject[]): Promise<Found[]> {
    const without = new Set<StoreName>()
    const cached = await unlessDown('hotStore', without, cache.getCountsMany(subjects))
    const missed = subjects.flatMap((_, place) => (cached?.[place] === undefined ? [place] : []))
    const wanted = missed.map((place) => subjects[place] as Subject)
    const rows = wanted.length === 0 ? [] : await unlessDown('recordStore', without, fromRecords(wanted))
    const rowOf = new Map(missed.map((place, index) => [place, rows?.[index]]))
    return subjects.map((subject, place) => {
      const counts = cached?.[place] ?? rowOf.get(place)
      if (counts === undefined) return lastKnown(subject, [...without])
      // Nothing is missing of what the record store answered: it only took longer.
      return { counts, without: cached === undefined ? ['hotStore'] : NOTHING_MISSING }
    })
  }

  function lastKnown(subject: Subject, without: readonly StoreName[]): Found {
    const read = lookup.lastKnown(subject)?.value.counts ?? null
    const heard = learnt.getStale(textOf(subject)) ?? null
    const known = read === null || (heard !== null && heard.version > read.version) ? heard : read
    if (known !== null) figures.lastKnown++
    return { counts: known, without }
  }

  return {
    getMany: async (subjects, degraded) => noted(await lookup.getMany(subjects), degraded),
    mayBeOld: (subject) => options.hotTtlMs > 0 && hotKeys.isHot(textOf(subject)),
    getFresh: async (subjects, degraded) => noted(await load(subjects), degraded),
    learn(counted) {
      for (const { business, oid, counts } of counted) {
        lookup.invalidate({ business, oid })
        // What is told late, from the outbox say, is older than what was learnt since.
        if ((learnt.getStale(textOf({ business, oid }))?.version ?? 0) > counts.version) continue
        learnt.set(textOf({ business, oid }), counts, BYTES_PER_COUNTS)
      }
    },
    reload,
    figures() {
      const { bytes, entries, evictions } = local.figures()
      return { local: { ...lookup.figures(), bytes, entries, evictions }, ...figures, hot: hotKeys.list() }
    },
  }
}

function noted(found: readonly Found[], degraded: Degraded | undefined): (SubjectCounts | null)[] {
  return found.map(({ counts, without }) => {
    for (const store of without) noteOrThrow(store, degraded)
    return counts
  })
}

function isSame(kept: Found, { counts, without }: Found): boolean {
  if (counts === null || kept.counts === null || kept.without !== without) return false
  return counts.version === kept.counts.version && counts.likes === kept.counts.likes && counts.dislikes === kept.counts.dislikes
}

async function unlessDown<T>(store: StoreName, without: Set<StoreName>, work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (!saysDown(error, store)) throw error
    without.add(store)
    return undefined
  }
}

function noteOrThrow(store: StoreName, degraded: Degraded | undefined): void {
  if (degraded === undefined) throw new TidemarkError(UNAVAILABLE[store], 'counts cannot be had from the store that has them: try again')
  degraded.add(store)
}

export function textOf({ business, oid }: Subject): string {
  return `${business}:${oid}`
}

export type OwnerKey = { business: number; owner: string }

/** Likes received, in order: from the count cache, then from the record store; null where neither answers. */
export async function getOwnerLikes(
  cache: CountCache,
  records: Pick<MarkRecords, 'getOwnerSums'>,
  owners: readonly OwnerKey[],
  degraded?: Degraded,
): Promise<(number | null)[]> {
  const without = new Set<StoreName>()
  const cached = await unlessDown('hotStore', without, cache.getOwnerSums(owners))
  const missed = owners.filter((_, place) => cached?.[place] === undefined)
  const sums = missed.length === 0 ? [] : await unlessDown('recordStore', without, records.getOwnerSums(missed))
  if (sums !== undefined && sums.length > 0) await cache.putOwnerSums(sums).catch(() => undefined)
  for (const store of without) noteOrThrow(store, degraded)
  const read = sums?.values()
  return owners.map((_, place) => cached?.[place]?.likes ?? read?.next().value?.likes ?? null)
}
