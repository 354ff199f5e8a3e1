/** The newest likers of a subject: from the cache if they are as new as the counts, otherwise from the record store, one load at a time. */
import type { Clock } from '../../../core/clock.ts'
import type { Subject, SubjectCounts } from '../../../core/domain.ts'
import { type Degraded, noteOrThrow } from '../../../core/outage/degraded.ts'
import { subjectText } from '../../../loaders/counts.ts'
import { makeSharedLookup } from '../../../loaders/lookup/shared.ts'
import { makeSieveCache } from '../../../core/sieve/sieve.ts'
import type { CachedLikers, CountCache } from '../stores/count-cache.ts'
import type { MarkRecords } from '../stores/record-store.ts'

export type NewestLikersSources = {
  cache: Pick<CountCache, 'getLikers' | 'putLikers'>
  records: Pick<MarkRecords, 'listLikers' | 'getCountsMany'>
}

/** `counted` is null if no store answers. The result is null if no store answers and this process has no last known list. */
export type NewestLikersRead = (subject: Subject, counted: SubjectCounts | null, degraded: Degraded) => Promise<CachedLikers | null>

/** Cached likers per subject: the largest page, its neighbour, and the viewer at an older place. */
const CACHED_MAX = 102
const LAST_KNOWN = { entriesMax: 1_000, bytesMax: 16_777_216 }
const BYTES_PER_LIKER = 100

type Load = { running: Promise<CachedLikers>; next: Promise<CachedLikers> | undefined }

export function makeNewestLikersRead(clock: Clock, { cache, records }: NewestLikersSources): NewestLikersRead {
  const loads = new Map<string, Load>()
  const lastKnown = makeSieveCache<CachedLikers>(clock, LAST_KNOWN)
  const countedOf = makeSharedLookup<Subject, SubjectCounts>((subjects) => records.getCountsMany(subjects), subjectText)

  async function readNewest(subject: Subject, counted: SubjectCounts | null, degraded: Degraded): Promise<CachedLikers | null> {
    if (counted !== null && counted.likes === 0) return keep(subject, { version: counted.version, entries: [], whole: true })
    try {
      const cached = await cache.getLikers(subject)
      if (cached !== undefined && (counted === null || cached.version >= counted.version)) return keep(subject, cached)
    } catch (error) {
      noteOrThrow(error, 'hotStore', degraded)
    }
    try {
      return keep(subject, await load(subject))
    } catch (error) {
      noteOrThrow(error, 'recordStore', degraded)
      return lastKnown.getStale(subjectText(subject)) ?? null
    }
  }

  /**
   * One load of a subject at a time. Callers that arrive during a load share the next one: the current load may have started before a like
   * that was persisted since.
   */
  function load(subject: Subject): Promise<CachedLikers> {
    const found = loads.get(subjectText(subject))
    if (found === undefined) return beginLoad(subject)
    return (found.next ??= found.running.catch(() => undefined).then(() => beginLoad(subject)))
  }

  function beginLoad(subject: Subject): Promise<CachedLikers> {
    const text = subjectText(subject)
    const begun: Load = {
      running: loadNow(subject).finally(() => {
        if (loads.get(text) === begun) loads.delete(text)
      }),
      next: undefined,
    }
    loads.set(text, begun)
    return begun.running
  }

  async function loadNow(subject: Subject): Promise<CachedLikers> {
    const [counted] = await countedOf([subject])
    const entries = counted?.likes === 0 ? [] : await records.listLikers(subject, undefined, CACHED_MAX)
    const likers = { version: counted?.version ?? 0, entries, whole: entries.length < CACHED_MAX }
    await cache.putLikers(subject, likers).catch(() => undefined)
    return likers
  }

  function keep(subject: Subject, likers: CachedLikers): CachedLikers {
    lastKnown.set(subjectText(subject), likers, BYTES_PER_LIKER * (1 + likers.entries.length))
    return likers
  }

  return readNewest
}
