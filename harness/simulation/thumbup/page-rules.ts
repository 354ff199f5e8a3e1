/** The checker's rules for pages of likes and likers: in order, without a gap, and with the right marks. */
import type { BusinessNumber, MarkEntry, MarkKey, MarkPlace, Subject, ViewerId } from '../../../core/domain.ts'
import { compareMarkPlaces } from '../../../subgraphs/thumbup/model/places.ts'
import type { MarkPage } from '../../../subgraphs/thumbup/read/likes.ts'
import type { Fail } from '../violation.ts'
import { askedText, nameOf, textOf, type Truths } from './truth.ts'

export function makePageRules(truths: Truths, fail: Fail) {
  function checkLikes(
    viewer: ViewerId,
    business: BusinessNumber,
    before: MarkPlace | undefined,
    first: number,
    page: MarkPage,
    since: number,
  ): void {
    const what = `viewer ${viewer}'s page of likes in ${business} after ${before === undefined ? 'the start' : placeText(before)}`
    checkOrder(what, before, first, page, viewer)
    const listed = new Set(page.entries.map(({ id }) => id))
    for (const { id, markedAt } of page.entries) {
      const truth = truths.of({ viewer, business, oid: id })
      if (truths.isDoubtful(truth, since)) continue
      const stood = truths.stoodSince(truth, since)
      if (!stood.some((each) => each?.mark === 'LIKE' && each.markedAt === markedAt))
        fail(`${what} lists ${id} at ${markedAt}, but it was ${stood.map(textOf).join(' or ')} all the time`, viewer)
    }
    const end = page.hasNextPage ? page.entries.at(-1) : undefined
    let [isMore, hasChanged] = [false, false]
    for (const truth of truths.all()) {
      if (truth.key.viewer !== viewer || truth.key.business !== business) continue
      const [stood, ...earlier] = truths.isDoubtful(truth, since) ? [undefined, undefined] : truths.stoodSince(truth, since)
      if (earlier.length > 0) hasChanged = true
      if (earlier.length > 0 || stood?.mark !== 'LIKE' || listed.has(truth.key.oid)) continue
      const place = { id: truth.key.oid, markedAt: stood.markedAt }
      if (before !== undefined && compareMarkPlaces(place, before) <= 0) continue
      if (end === undefined || compareMarkPlaces(place, end) < 0)
        fail(`seam: ${what} skips ${place.id}, which was ${textOf(stood)} all the time`, viewer)
      else isMore = true
    }
    if (page.hasNextPage && !isMore && !hasChanged) fail(`${what} has hasNextPage, but no entry follows`, viewer)
  }

  /** The public likers of a subject may be as old as the caches. But each listed viewer must have given that like once. */
  function checkLikers(subject: Subject, before: MarkPlace | undefined, first: number, page: MarkPage): void {
    const what = `the page of likers of ${nameOf(subject)} after ${before === undefined ? 'the start' : placeText(before)}`
    checkOrder(what, before, first, page, undefined)
    for (const { id, markedAt } of page.entries) {
      if (!truths.of({ viewer: id, ...subject }).asked.has(askedText({ mark: 'LIKE', markedAt })))
        fail(`${what} lists ${id} at ${markedAt}, but that like was never sent`, id)
    }
  }

  /** The asking viewer sees their own current mark, even if the public list is older. */
  function checkOwnPlace(key: MarkKey & { viewer: ViewerId }, before: MarkPlace | undefined, page: MarkPage, since: number): void {
    const truth = truths.of(key)
    if (truths.isDoubtful(truth, since)) return
    const [stood, ...earlier] = truths.stoodSince(truth, since)
    if (earlier.length > 0) return
    const what = `the viewer's own page of likers of ${nameOf({ business: key.business, oid: key.oid })}`
    const listed = page.entries.find(({ id }) => id === key.viewer)
    if (stood?.mark !== 'LIKE') {
      if (listed !== undefined) fail(`${what} lists viewer ${key.viewer}, but it was ${textOf(stood)} all the time`, key.viewer)
      return
    }
    const place = { id: key.viewer, markedAt: stood.markedAt }
    const end = page.hasNextPage ? page.entries.at(-1) : undefined
    const isInside =
      (before === undefined || compareMarkPlaces(before, place) < 0) && (end === undefined || compareMarkPlaces(place, end) <= 0)
    if (isInside !== (listed !== undefined) || (listed !== undefined && listed.markedAt !== stood.markedAt))
      fail(
        `${what} ${listed === undefined ? 'skips' : 'misplaces'} viewer ${key.viewer}, although the mark was ${textOf(stood)} all the time`,
        key.viewer,
      )
  }

  function checkOrder(what: string, before: MarkPlace | undefined, first: number, page: MarkPage, viewer: ViewerId | undefined): void {
    let last = before
    for (const entry of page.entries) {
      if (last !== undefined && compareMarkPlaces(last, entry) >= 0) fail(`${what} is out of order at ${placeText(entry)}`, viewer)
      last = entry
    }
    if (page.entries.length > first) fail(`${what} has ${page.entries.length} entries, ${first} were asked for`, viewer)
    if (new Set(page.entries.map(({ id }) => id)).size < page.entries.length) fail(`${what} lists an id twice`, viewer)
  }

  return { checkLikes, checkLikers, checkOwnPlace }
}

function placeText({ id, markedAt }: MarkEntry): string {
  return `${id} at ${markedAt}`
}
