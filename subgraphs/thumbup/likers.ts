/**
 * One page of a subject's likers. The newest are cached, as of a version of the subject's counts: every like and undo moves
 * that version, so a list as new as the cached counts is as good as the record store's. An older one is read again, by one
 * caller for all of this process. Pages beyond what is cached come from the record store by its index.
 *
 * The viewer who asks sees himself at once: what he did is put over the page, until everybody sees it.
 *
 * 1. The version is read. 2. The list is read. Then the list is at least as new as the version it is kept under; the
 * other way round an old list could be taken for a new one.
 *
 * With the count cache down pages come from the record store; with both down, the last list this process saw; or null.
 */
import { saysDown, type Degraded } from '../../core/degraded.ts'
import type { MarkEntry, MarkPlace, Subject, ViewerId } from '../../core/domain.ts'
import { compareMarkPlaces } from '../../core/places.ts'
import type { Clock } from '../../core/clock.ts'
import type { Loaded } from '../../core/cached-lookup.ts'
import { makeSieveCache } from '../../core/sieve-cache.ts'
import { textOf, type CountReads } from '../../loaders/counts.ts'
import type { CachedLikers, CountCache } from '../../stores/count-cache.ts'
import type { MarkRecords } from '../../stores/mark-records.ts'
import type { MarkStore } from '../../stores/mark-store.ts'
import { pageOf, type MarkPage } from './likes.ts'

export type LikersSources = {
  hot: Pick<MarkStore, 'getMarkMany' | 'readDirtyMarks'>
  cache: Pick<CountCache, 'getLikers' | 'putLikers'>
  records: Pick<MarkRecords, 'listLikers' | 'getCountsMany'>
  counts: Pick<CountReads, 'getMany'>
}

export type LikersRead = (
  subject: Subject,
  viewer: ViewerId | undefined,
  before: MarkPlace | undefined,
  first: number,
  degraded?: Degraded,
) => Promise<MarkPage | null>

/** Likers that are cached per subject: the largest page, and its neighbour. */
const CACHED_MAX = 101
const LAST_KNOWN = { entriesMax: 1_000, bytesMax: 16_777_216 }
const BYTES_PER_LIKER = 100

export function makeLikersRead(clock: Clock, { hot, cache, records, counts }: LikersSources): LikersRead {
  const underWay = new Map<string, Promise<CachedLikers>>()
  const lastKnown = makeSieveCache<Loaded<CachedLikers>>(clock, LAST_KNOWN)

  async function read(
    subject: Subject,
    before: MarkPlace | undefined,
    wanted: number,
    degraded: Degraded | undefined,
  ): Promise<MarkEntry[] | null> {
    const newest = await readNewest(subject, degraded)
    if (newest === null) return null
    const after = before === undefined ? newest.entries : newest.entries.filter((entry) => compareMarkPlaces(before, entry) < 0)
    if (newest.whole || after.length >= wanted) return after.slice(0, wanted)
    try {
      return await records.listLikers(subject, before, wanted)
    } catch (error) {
      noteOrThrow(error, 'recordStore', degraded)
      return after.length > 0 ? after : null
    }
  }

  async function readNewest(subject: Subject, degraded: Degraded | undefined): Promise<CachedLikers | null> {
    try {
      const cached = await cache.getLikers(subject)
      // Of a hot subject the counts may be as old as this process may serve them, and so may the list be.
      const [counted] = cached === undefined ? [] : await counts.getMany([subject], degraded)
      if (cached !== undefined && counted !== undefined && (counted === null || cached.version >= counted.version))
        return keep(subject, cached)
    } catch (error) {
      noteOrThrow(error, 'hotStore', degraded)
    }
    try {
      return keep(subject, await load(subject))
    } catch (error) {
      noteOrThrow(error, 'recordStore', degraded)
      return lastKnown.getStale(textOf(subject))?.value ?? null
    }
  }

  /** One load of a subject at a time. Whoever joins gets what is at most a load's time old. */
  function load(subject: Subject): Promise<CachedLikers> {
    const text = textOf(subject)
    const found = underWay.get(text)
    if (found !== undefined) return found
    const loading = loadNow(subject).finally(() => underWay.delete(text))
    underWay.set(text, loading)
    return loading
  }

  async function loadNow(subject: Subject): Promise<CachedLikers> {
    const [counted] = await records.getCountsMany([subject])
    const entries = await records.listLikers(subject, undefined, CACHED_MAX)
    const likers = { version: counted?.version ?? 0, entries, whole: entries.length < CACHED_MAX }
    await cache.putLikers(subject, likers).catch(() => undefined)
    return likers
  }

  function keep(subject: Subject, likers: CachedLikers): CachedLikers {
    lastKnown.set(textOf(subject), { value: likers, load: 0, begunAt: clock.now() }, BYTES_PER_LIKER * (1 + likers.entries.length))
    return likers
  }

  /** What waits of the viewer's own: his place in the list, null if he is in none, undefined if nothing waits. */
  async function ownPlace(subject: Subject, viewer: ViewerId): Promise<MarkEntry | null | undefined> {
    const key = { viewer, ...subject }
    try {
      const [held] = await hot.getMarkMany([key])
      if (held?.pending !== true) return undefined
      const [dirty] = await hot.readDirtyMarks([key])
      if (dirty?.record === undefined) return undefined
      return dirty.record.mark === 'LIKE' ? { id: viewer, markedAt: dirty.record.markedAt } : null
    } catch (error) {
      // The list is as everybody sees it then.
      if (!saysDown(error, 'hotStore')) throw error
      return undefined
    }
  }

  return async (subject, viewer, before, first, degraded) => {
    const own = viewer === undefined ? undefined : await ownPlace(subject, viewer)
    // One more than the page and its neighbour: the viewer may be one of them, elsewhere than he now stands.
    const wanted = own === undefined ? first + 1 : first + 2
    const entries = await read(subject, before, wanted, degraded)
    if (entries === null || own === undefined) return entries === null ? null : pageOf(entries, first)
    const others = entries.filter(({ id }) => id !== viewer)
    if (own === null || (before !== undefined && compareMarkPlaces(before, own) >= 0)) return pageOf(others, first)
    // Behind the last of a page that is full he stands on a later one.
    return pageOf([...others, own].sort(compareMarkPlaces), first)
  }
}

function noteOrThrow(error: unknown, store: 'hotStore' | 'recordStore', degraded: Degraded | undefined): void {
  if (degraded === undefined || !saysDown(error, store)) throw error
  degraded.add(store)
}
