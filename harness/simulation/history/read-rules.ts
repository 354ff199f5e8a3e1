/**
 * The checker's rules for reads (line 1): a read may show each key as it was at any instant between its start and its end, and pages list
 * every key once.
 */
import type { Place, ProgressKey, ProgressRecord, ViewerId } from '../../../core/domain.ts'
import { comparePlaces } from '../../../subgraphs/history/model/places.ts'
import type { TimelinePage } from '../../../subgraphs/history/read/timeline.ts'
import type { Fail } from '../violation.ts'
import type { KeyModels } from './key-models.ts'
import { isShown, nameOf, placeOf, textOf } from './shown.ts'

export type ReadRules = ReturnType<typeof makeReadRules>

export function makeReadRules({ viewerOf, keyOf, isDoubtful, shownSince }: KeyModels, fail: Fail) {
  function checkShown(key: ProgressKey, record: ProgressRecord | undefined, since: number, what: string): void {
    const model = keyOf(key)
    if (isDoubtful(model, since)) return
    const allowed = shownSince(model, since)
    if (allowed.some((shown) => isShown(record, shown))) return
    fail(
      `line 1: ${what} shows ${nameOf(key)} as ${textOf(record)}, but it was ${allowed.map(textOf).join(' or ')} all the time`,
      key.viewer,
    )
  }

  function checkPage(
    viewer: ViewerId,
    businesses: readonly number[],
    before: Place | undefined,
    first: number,
    page: TimelinePage,
    since: number,
  ): void {
    const what = `viewer ${viewer}'s page of [${businesses.join(', ')}] after ${before === undefined ? 'the start' : `${nameOf(before)} at ${before.viewedAt}`}`
    checkEntries(viewer, before, first, page, since, what)
    checkNothingSkipped(viewer, businesses, before, page, since, what)
  }

  function checkEntries(viewer: ViewerId, before: Place | undefined, first: number, page: TimelinePage, since: number, what: string): void {
    let last = before
    for (const entry of page.entries) {
      const place = placeOf(entry)
      if (last !== undefined && comparePlaces(last, place) >= 0) fail(`${what} is out of order at ${nameOf(entry)}`, viewer)
      last = place
      checkShown({ viewer, business: entry.business, oid: entry.oid }, entry.record, since, what)
    }
    if (page.entries.length > first) fail(`${what} has ${page.entries.length} entries, but only ${first} were requested`, viewer)
    if (listedIn(page).size < page.entries.length) fail(`${what} lists a subject twice`, viewer)
  }

  function checkNothingSkipped(
    viewer: ViewerId,
    businesses: readonly number[],
    before: Place | undefined,
    page: TimelinePage,
    since: number,
    what: string,
  ): void {
    const listed = listedIn(page)
    const last = page.entries.at(-1)
    const end = page.hasNextPage ? (last === undefined ? before : placeOf(last)) : undefined
    let changed = false
    let isMore = false
    for (const [text, model] of viewerOf(viewer).keys) {
      if (!businesses.includes(model.key.business)) continue
      if (isDoubtful(model, since)) {
        changed = true
        continue
      }
      const states = shownSince(model, since)
      const [shown] = states
      if (states.length > 1) changed = true
      if (states.length > 1 || shown === undefined || listed.has(text)) continue
      const place = { viewedAt: shown.viewedAt, business: model.key.business, oid: model.key.oid }
      if (before !== undefined && comparePlaces(place, before) <= 0) continue
      if (end === undefined || comparePlaces(place, end) < 0)
        fail(`line 1: ${what} skips ${nameOf(model.key)}, which was ${textOf(shown)} all the time`, viewer)
      else isMore = true
    }
    if (page.hasNextPage && !isMore && !changed) fail(`${what} has hasNextPage, but no entry follows`, viewer)
  }

  return { checkShown, checkPage }
}

function listedIn(page: TimelinePage): ReadonlySet<string> {
  return new Set(page.entries.map((entry) => `${entry.business}:${entry.oid}`))
}
