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
import type { MarkEntry, MarkPlace, Subject, SubjectCounts, ViewerId } from '../../../core/domain.ts'
import { type Degraded, noteOrThrow } from '../../../core/outage/degraded.ts'
import type { Clock } from '../../../core/clock.ts'
import type { CountReads } from '../../../loaders/counts.ts'
import type { MarkRecords } from '../stores/record-store.ts'
import { makeNewestLikersRead, type NewestLikersSources } from './newest-likers.ts'
import { readOwnPlaces, type OwnPlace, type OwnPlaceSources } from './own-places.ts'
import { pageOf, type MarkPage } from './likes.ts'
import { compareMarkPlaces } from '../model/places.ts'

export type LikersSources = NewestLikersSources &
  OwnPlaceSources & {
    records: Pick<MarkRecords, 'listLikers'>
    counts: Pick<CountReads, 'getMany'>
  }

/** A page that is asked for: at most `first` likers strictly after `before`, as this viewer is to see them. */
export type LikersAsked = { subject: Subject; viewer: ViewerId | undefined; before: MarkPlace | undefined; first: number }

/** In order; null where no store answers, an error for each page whose stores failed. */
export type LikersRead = (asked: readonly LikersAsked[], degraded: Degraded) => Promise<(MarkPage | null | Error)[]>

export function makeLikersRead(clock: Clock, sources: LikersSources): LikersRead {
  const { records, counts } = sources
  const readNewest = makeNewestLikersRead(clock, sources)

  async function read(
    { subject, before }: LikersAsked,
    wanted: number,
    counted: SubjectCounts | null,
    degraded: Degraded,
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

  async function pageFor(asked: LikersAsked, own: OwnPlace, counted: SubjectCounts | null, degraded: Degraded): Promise<MarkPage | null> {
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
    const owns = await readOwnPlaces(sources, asked, degraded)
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
