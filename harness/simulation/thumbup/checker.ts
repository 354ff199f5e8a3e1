/**
 * What must always hold of marks, and the model it is compared with: one last-write-wins register per key, told of every
 * write at the instant it reaches the hot store, whoever sent it and whether he ever got his answer. It knows nothing of
 * regions, caps, floors, fills, flushes or dirty marks.
 *
 * A read may show each key as it was at any instant between its start and its end. What was put blindly, because the record
 * store was down, may be older than what that has: from then on the key is doubtful until the hot store holds what it ought
 * to. What a journal holds counts from when it reaches the hot store; that it gets there is a rule for when it is quiet.
 */
import { ATTEMPTS_MAX } from '../../../core/clock-differences.ts'
import type { BusinessNumber, MarkEntry, MarkKey, MarkPlace, MarkRecord, Subject, ViewerId } from '../../../core/domain.ts'
import { winsOver } from '../../../subgraphs/thumbup/model/merge.ts'
import { keyText } from '../../../core/progress-key.ts'
import type { MarkJournalEntry } from '../../../subgraphs/thumbup/write/journaled-marks.ts'
import type { MarkAnswer } from '../../../subgraphs/thumbup/write/service.ts'
import type { MarkPage } from '../../../subgraphs/thumbup/read/likes.ts'
import type { MarkStoreObserver, MarkStoreState } from '../../models/thumbup/hot-store-model.ts'
import type { JournalObserver } from '../model-journals.ts'
import { Violation } from '../violation.ts'
import { askedText, isSame, makeTruths, markOf, nameOf, textOf, type KeyTruth } from './truth.ts'
import { compareMarkPlaces } from '../../../subgraphs/thumbup/model/places.ts'

export type MarkChecker = ReturnType<typeof makeMarkChecker>

/** A mark as it was sent; `markedAt` undefined: whenever the server says. */
export type SentMark = { key: MarkKey; mark: string; markedAt: number | undefined; isBad: boolean; isNow: boolean }

export function makeMarkChecker() {
  const truths = makeTruths()
  const journaled = new Set<string>()
  /** Writes that reached the hot store. */
  const landed = new Set<string>()
  let hot: MarkStoreState | undefined
  let failure: Violation | undefined

  function fail(message: string, viewer: ViewerId | undefined): void {
    failure ??= new Violation(message, viewer)
  }

  const hotObserver: MarkStoreObserver = {
    put(write, outcome, isGuess) {
      if (outcome.status === 'needs-base') return
      const truth = truths.of(write)
      const { record } = outcome
      const wasDoubtful = truth.guessed
      landed.add(writeText(write))
      if (outcome.status === 'stale') {
        if (!wasDoubtful && (truth.now === undefined || truth.now.markedAt < write.markedAt))
          fail(`last write wins: ${nameOf(write)} ${textOf(write)} was stale, but there stood ${textOf(truth.now)}`, write.viewer)
        return
      }
      const isNewer = winsOver(record, truth.now)
      if (!isNewer && !wasDoubtful && !isGuess)
        fail(`last write wins: ${nameOf(write)} was written as ${textOf(record)} over ${textOf(truth.now)}`, write.viewer)
      if (!wasDoubtful && !isGuess && outcome.old !== markOf(truth.now))
        fail(
          `transitions: ${nameOf(write)} was ${outcome.old} before ${textOf(record)}, but there stood ${textOf(truth.now)}`,
          write.viewer,
        )
      truth.asked.add(askedText(record))
      if (isNewer) truths.change(truth, record)
      noteDoubt(truth, isGuess || wasDoubtful)
    },
    moved: (key) => {
      const truth = truths.of(key)
      noteDoubt(truth, truth.guessed)
    },
  }

  /** Doubt ends when the hot store holds what it ought to, or nothing. */
  function noteDoubt(truth: KeyTruth, mayBeGuess: boolean): void {
    const held = hot?.heldOf(truth.key)?.record
    truth.guessed = mayBeGuess && held !== undefined && !isSame(held, truth.now)
    if (mayBeGuess) truth.doubtfulUntil = truths.nextTick()
  }

  const journalObserver: JournalObserver = {
    appended(entry) {
      for (const write of (entry as MarkJournalEntry).change.writes) journaled.add(writeText(write))
    },
    removed(entry) {
      const lost = (entry as MarkJournalEntry).change.writes.find((write) => !landed.has(writeText(write)))
      if (lost !== undefined) fail(`a journal forgets ${nameOf(lost)} ${textOf(lost)}, which the hot store never had`, lost.viewer)
    },
  }

  function checkShown(key: MarkKey, mark: string, since: number, what: string): void {
    const truth = truths.of(key)
    if (truths.isDoubtful(truth, since)) return
    const stood = truths.stoodSince(truth, since)
    if (stood.some((each) => markOf(each) === mark)) return
    fail(`shown: ${what} shows ${nameOf(key)} as ${mark}, but it was ${stood.map(textOf).join(' or ')} all the time`, key.viewer)
  }

  function checkAnswers(viewer: ViewerId, sent: readonly SentMark[], answers: readonly MarkAnswer[], since: number): void {
    if (answers.length !== sent.length) fail(`${sent.length} marks got ${answers.length} answers`, viewer)
    sent.forEach(({ key, mark, markedAt, isBad, isNow }, index) => {
      const answer = answers[index] as MarkAnswer
      const isOvertaken = isNow && answer.outcome === 'STALE' && answer.mark !== mark
      const isOftenOvertaken = truths.stoodSince(truths.of(key), since).length > ATTEMPTS_MAX
      if (isOvertaken && !isOftenOvertaken && isAloneOfNow(sent, key))
        fail(`last write wins: ${nameOf(key)} ${mark}, of now, was answered STALE: ${answer.mark}`, viewer)
      if (isBad !== (answer.outcome === 'REJECTED')) fail(`${nameOf(key)} ${mark} was answered ${answer.outcome}`, viewer)
      if (answer.outcome === 'REJECTED' || markedAt === undefined) return
      const text = writeText({ ...key, mark, markedAt })
      if (!landed.has(text) && !journaled.has(text))
        fail(`acknowledged: ${nameOf(key)} ${mark} at ${markedAt} is neither in the hot store nor in a journal`, viewer)
      const truth = truths.of(key)
      truth.ackedAt = Math.max(truth.ackedAt, markedAt)
      truth.asked.add(askedText({ mark: mark as MarkRecord['mark'], markedAt }))
    })
  }

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
    if (page.hasNextPage && !isMore && !hasChanged) fail(`${what} promises a next page, but nothing follows`, viewer)
  }

  /** What everybody sees of a subject's likers may be as old as the caches are; but each of them once said so. */
  function checkLikers(subject: Subject, before: MarkPlace | undefined, first: number, page: MarkPage): void {
    const what = `the page of likers of ${nameOf(subject)} after ${before === undefined ? 'the start' : placeText(before)}`
    checkOrder(what, before, first, page, undefined)
    for (const { id, markedAt } of page.entries) {
      if (!truths.of({ viewer: id, ...subject }).asked.has(askedText({ mark: 'LIKE', markedAt })))
        fail(`${what} lists ${id} at ${markedAt}, who never said so`, id)
    }
  }

  /** The viewer who asks sees himself as he stood all the time, whatever everybody sees. */
  function checkOwnPlace(key: MarkKey & { viewer: ViewerId }, before: MarkPlace | undefined, page: MarkPage, since: number): void {
    const truth = truths.of(key)
    if (truths.isDoubtful(truth, since)) return
    const [stood, ...earlier] = truths.stoodSince(truth, since)
    if (earlier.length > 0) return
    const what = `his page of likers of ${nameOf({ business: key.business, oid: key.oid })}`
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
        `${what} ${listed === undefined ? 'skips' : 'misplaces'} viewer ${key.viewer}, who stood as ${textOf(stood)} all the time`,
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
    if (new Set(page.entries.map(({ id }) => id)).size < page.entries.length) fail(`${what} lists somebody twice`, viewer)
  }

  return {
    truths,
    hotObserver,
    journalObserver,
    watch(state: MarkStoreState): void {
      hot = state
    },
    /** What was there from the start. */
    begin(key: MarkKey, record: MarkRecord): void {
      const truth = truths.of(key)
      truth.asked.add(askedText(record))
      truths.change(truth, record)
    },
    /** Has a put brought it into the hot store? Of what the server gave its time nobody can say. */
    hasLanded: ({ key, mark, markedAt }: SentMark): boolean => markedAt === undefined || landed.has(writeText({ ...key, mark, markedAt })),
    fail,
    failure: () => failure,
    checkShown,
    checkAnswers,
    checkLikes,
    checkLikers,
    checkOwnPlace,
    /** All that the viewer likes in a business. */
    likesOf: (viewer: ViewerId, business: BusinessNumber): KeyTruth[] =>
      [...truths.all()].filter(({ key, now }) => key.viewer === viewer && key.business === business && now?.mark === 'LIKE'),
    hasChangedSince: (truth: KeyTruth, since: number) => truths.isDoubtful(truth, since) || truths.stoodSince(truth, since).length > 1,
  }
}

/** Which of several is the last, their times say. */
function isAloneOfNow(sent: readonly SentMark[], key: MarkKey): boolean {
  return sent.filter((each) => each.isNow && keyText(each.key) === keyText(key)).length === 1
}

function writeText({ viewer, business, oid, mark, markedAt }: MarkKey & { mark: string; markedAt: number }): string {
  return `${viewer} ${business}:${oid} ${mark}@${markedAt}`
}

function placeText({ id, markedAt }: MarkEntry): string {
  return `${id} at ${markedAt}`
}
