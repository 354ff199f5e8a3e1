/**
 * One page of a subject's likers. The newest are cached, as of a version of the subject's counts: every like and undo moves
 * that version, so a list as new as the cached counts is as good as the record store's. An older one is read again, by one
 * caller for all of this process. Pages beyond what is cached come from the record store by its index.
 *
 * The viewer who asks sees himself as he stands, at once and from then on: his own place, found as his own mark is
 * (`loaders/marks.ts`), is put over the page, whether everybody sees it already or not. The counts, and the list with them, may be from before
 * his like was counted: those of a hot subject are served for a while, and those in a cache that was down are old until it is refreshed.
 *
 * What a request asks of many subjects is read together: his places in one go, the counts in one go, and of subjects that
 * nobody likes nothing else.
 *
 * 1. The version is read. 2. The list is read. Then the list is at least as new as the version it is kept under; the
 * other way round an old list could be taken for a new one.
 *
 * With the count cache down pages come from the record store; with both down, the last list this process saw; or null.
 */
import { noteLack, saysDown, type Degraded, type MayLack } from '../../../core/outage/degraded.ts'
import type { MarkEntry, MarkKey, MarkPlace, MarkRecord, Subject, SubjectCounts, ViewerId } from '../../../core/domain.ts'
import type { Clock } from '../../../core/clock.ts'
import type { CachedLoad } from '../../../loaders/lookup/cache-fill.ts'
import { makeSieveCache } from '../../../loaders/lookup/sieve.ts'
import { subjectText, type CountReads } from '../../../loaders/counts.ts'
import { getMarkMany, type MarkSources } from '../../../loaders/marks.ts'
import { makeSharedLookup } from '../../../loaders/lookup/shared.ts'
import type { CachedLikers, CountCache } from '../stores/count-cache.ts'
import type { MarkRecords } from '../stores/record-store.ts'
import type { MarkStore } from '../stores/hot-store.ts'
import { pageOf, type MarkPage } from './likes.ts'
import { compareMarkPlaces } from '../model/places.ts'

export type LikersSources = {
  hot: Pick<MarkStore, 'getMarkMany' | 'readDirtyMarks'>
  fills: MarkSources['fills']
  cache: Pick<CountCache, 'getLikers' | 'putLikers'>
  records: Pick<MarkRecords, 'listLikers' | 'getCountsMany' | 'getMarkMany'>
  counts: Pick<CountReads, 'getMany'>
  mayLack?: MayLack
}

/** A page that is asked for: at most `first` likers strictly after `before`, as this viewer is to see them. */
export type LikersAsked = { subject: Subject; viewer: ViewerId | undefined; before: MarkPlace | undefined; first: number }

/** In order; null where no store answers, an error for each page whose stores failed. */
export type LikersRead = (asked: readonly LikersAsked[], degraded?: Degraded) => Promise<(MarkPage | null | Error)[]>

/** Likers that are cached per subject: the largest page, its neighbour, and the viewer, who may stand elsewhere by now. */
const CACHED_MAX = 102
const LAST_KNOWN = { entriesMax: 1_000, bytesMax: 16_777_216 }
const BYTES_PER_LIKER = 100

/**
 * How a viewer stands in a list: his place, or null if he is in none. Undefined: nobody asked, or the store that could tell is
 * down, and the list is as everybody sees it.
 */
type Own = MarkEntry | null | undefined
type Load = { running: Promise<CachedLikers>; next: Promise<CachedLikers> | undefined }

export function makeLikersRead(clock: Clock, { hot, fills, cache, records, counts, mayLack }: LikersSources): LikersRead {
  const marks = { hot, fills, records }
  const loads = new Map<string, Load>()
  const lastKnown = makeSieveCache<CachedLoad<CachedLikers>>(clock, LAST_KNOWN)
  const countedOf = makeSharedLookup<Subject, SubjectCounts>((subjects) => records.getCountsMany(subjects), subjectText)

  async function read(
    { subject, before }: LikersAsked,
    wanted: number,
    counted: SubjectCounts | null,
    degraded: Degraded | undefined,
  ): Promise<MarkEntry[] | null> {
    const newest = await readNewest(subject, counted, degraded)
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

  /** `counted`: null if no store answers. */
  async function readNewest(subject: Subject, counted: SubjectCounts | null, degraded: Degraded | undefined): Promise<CachedLikers | null> {
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
      return lastKnown.getStale(subjectText(subject))?.value ?? null
    }
  }

  /**
   * One load of a subject at a time. Whoever comes while it is under way waits for the next, together with all who come: what
   * is under way may have read before a like that was persisted, and acknowledged, since.
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
    lastKnown.set(subjectText(subject), { value: likers, load: 0, begunAt: clock.now() }, BYTES_PER_LIKER * (1 + likers.entries.length))
    return likers
  }

  /** In order, of each page's viewer. */
  async function ownPlaces(asked: readonly LikersAsked[], degraded: Degraded | undefined): Promise<Own[]> {
    const owns: Own[] = asked.map(() => undefined)
    const keys = asked.flatMap(({ subject, viewer }, at) => (viewer === undefined ? [] : [{ at, viewer, ...subject }]))
    if (keys.length === 0) return owns
    noteLack(new Set(keys.map(({ viewer }) => viewer)), mayLack, degraded)
    const without: Degraded = new Set()
    const shown = await getMarkMany(marks, keys, without)
    for (const store of without) degraded?.add(store)
    keys.forEach(({ at }, index) => (owns[at] = shown[index] == null ? undefined : null))
    const liked = keys.filter((_, index) => shown[index]?.mark === 'LIKE')
    const stored = await storedAt(liked, without.has('hotStore'), degraded)
    liked.forEach(({ at, viewer }, index) => (owns[at] = stored === undefined ? undefined : placeOf(viewer, stored[index])))
    return owns
  }

  /** What the hot store has left is in the record store by then. Undefined if one of them that is needed is down: then the list is as everybody sees it. */
  async function storedAt(
    keys: readonly MarkKey[],
    isHotDown: boolean,
    degraded: Degraded | undefined,
  ): Promise<(MarkRecord | undefined)[] | undefined> {
    if (keys.length === 0) return []
    try {
      const held = isHotDown ? [] : await hot.readDirtyMarks(keys)
      const found = keys.map((_, index) => held[index]?.record)
      const missed = [...keys.keys()].filter((index) => found[index] === undefined)
      if (missed.length === 0) return found
      const rows = await records.getMarkMany(missed.map((index) => keys[index] as MarkKey))
      missed.forEach((index, place) => (found[index] = rows[place]))
      return found
    } catch (error) {
      const store = (['hotStore', 'recordStore'] as const).find((each) => saysDown(error, each))
      if (store === undefined) throw error
      degraded?.add(store)
      return undefined
    }
  }

  async function pageFor(
    asked: LikersAsked,
    own: Own,
    counted: SubjectCounts | null,
    degraded: Degraded | undefined,
  ): Promise<MarkPage | null> {
    const { viewer, before, first } = asked
    // One more than the page and its neighbour: the viewer may be one of them, elsewhere than he now stands.
    const entries = await read(asked, own === undefined ? first + 1 : first + 2, counted, degraded)
    if (entries === null || own === undefined) return entries === null ? null : pageOf(entries, first)
    const others = entries.filter(({ id }) => id !== viewer)
    if (own === null || (before !== undefined && compareMarkPlaces(before, own) >= 0)) return pageOf(others, first)
    // Behind the last of a page that is full he stands on a later one.
    return pageOf([...others, own].sort(compareMarkPlaces), first)
  }

  return async (asked, degraded) => {
    const owns = await ownPlaces(asked, degraded)
    const counted = await counts.getMany(
      asked.map(({ subject }) => subject),
      degraded,
    )
    const pages = await Promise.allSettled(asked.map((each, at) => pageFor(each, owns[at], counted[at] ?? null, degraded)))
    return pages.map((page) => {
      if (page.status === 'fulfilled') return page.value
      return page.reason instanceof Error ? page.reason : new Error(String(page.reason))
    })
  }
}

function placeOf(viewer: ViewerId, record: MarkRecord | undefined): MarkEntry | null {
  return record?.mark === 'LIKE' ? { id: viewer, markedAt: record.markedAt } : null
}

function noteOrThrow(error: unknown, store: 'hotStore' | 'recordStore', degraded: Degraded | undefined): void {
  if (degraded === undefined || !saysDown(error, store)) throw error
  degraded.add(store)
}
