/**
 * One page of a subject's likers. The newest likers are cached, as of a version of the subject's counts. Every like and undo raises that
 * version, so a list of the same version as the cached counts is as good as the record store's. One caller per process reads an older list
 * again. Later pages come from the record store by its index.
 *
 * Viewers see themselves at their current place, at once and from then on. The viewer's own mark is looked up (`loaders/marks.ts`) and put
 * over the page, whether it is counted yet or not. The counts and the list may be older than the viewer's like, for a hot subject or after
 * an outage of the cache.
 *
 * A request for many subjects reads all own places in one batch and all counts in one batch. Subjects without likes need no further read.
 *
 * 1. Read the version.
 * 2. Read the list.
 *
 * In this order, the list is at least as new as its version. In the other order, an old list could pass for a new one.
 *
 * With the count cache down, pages come from the record store. With both down, a page is the last list of this process, or null.
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

/** A request for a page: at most `first` likers strictly after `before`, as this viewer sees them. */
export type LikersAsked = { subject: Subject; viewer: ViewerId | undefined; before: MarkPlace | undefined; first: number }

/** In order: null where no store answers, an error for each page whose stores failed. */
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
    // One more than the page and its neighbour: the viewer may be listed at an older place.
    const entries = await read(asked, own === undefined ? first + 1 : first + 2, counted, degraded)
    if (entries === null || own === undefined) return entries === null ? null : pageOf(entries, first)
    const others = entries.filter(({ id }) => id !== viewer)
    if (own === null || (before !== undefined && compareMarkPlaces(before, own) >= 0)) return pageOf(others, first)
    // If the viewer sorts behind a full page, a later page shows them.
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
