/**
 * The invariants of marks, and the model behind them: one last-write-wins register per key. It is notified of every write at the instant
 * the write reaches the hot store, for any client and with or without an answer. It has no regions, caps, floors, fills, flushes or dirty
 * marks.
 *
 * A read may show each key as it was at any instant between its start and its end. While the record store is down, a put is blind and may
 * be older than the stored row. Its key is then doubtful until the hot store has the right mark. A journaled mark counts from the instant
 * it reaches the hot store. The rules after quiet check that it arrives.
 */
import { ATTEMPTS_MAX } from '../../../writeback/put.ts'
import type { BusinessNumber, MarkKey, MarkRecord, ViewerId } from '../../../core/domain.ts'
import { keyText } from '../../../core/progress-key.ts'
import type { MarkJournalEntry } from '../../../subgraphs/thumbup/write/journaled-marks.ts'
import type { MarkAnswer } from '../../../subgraphs/thumbup/write/mark-answers.ts'
import type { JournalObserver } from '../model-journals.ts'
import { Violation, type Fail } from '../violation.ts'
import { makePageRules } from './page-rules.ts'
import { makeMarkPutRules, writeText } from './put-rules.ts'
import { askedText, makeTruths, markOf, nameOf, textOf, type KeyTruth } from './truth.ts'

export type MarkChecker = ReturnType<typeof makeMarkChecker>

/** A mark as it was sent. `markedAt` undefined: the server sets the time. */
export type SentMark = { key: MarkKey; mark: string; markedAt: number | undefined; isBad: boolean; isNow: boolean }

export function makeMarkChecker() {
  const truths = makeTruths()
  const journaled = new Set<string>()
  let failure: Violation | undefined
  const fail: Fail = (message, viewer) => {
    failure ??= new Violation(message, viewer)
  }
  const { hotObserver, watch, hasLanded } = makeMarkPutRules(truths, fail)

  const journalObserver: JournalObserver = {
    appended(entry) {
      for (const write of (entry as MarkJournalEntry).change.writes) journaled.add(writeText(write))
    },
    removed(entry) {
      const lost = (entry as MarkJournalEntry).change.writes.find((write) => !hasLanded(write))
      if (lost !== undefined) fail(`a journal removes ${nameOf(lost)} ${textOf(lost)}, which never reached the hot store`, lost.viewer)
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
        fail(`last write wins: ${nameOf(key)} ${mark} with the present time was answered STALE: ${answer.mark}`, viewer)
      if (isBad !== (answer.outcome === 'REJECTED')) fail(`${nameOf(key)} ${mark} was answered ${answer.outcome}`, viewer)
      if (answer.outcome === 'REJECTED' || markedAt === undefined) return
      const write = { ...key, mark, markedAt }
      if (!hasLanded(write) && !journaled.has(writeText(write)))
        fail(`acknowledged: ${nameOf(key)} ${mark} at ${markedAt} is neither in the hot store nor in a journal`, viewer)
      const truth = truths.of(key)
      truth.ackedAt = Math.max(truth.ackedAt, markedAt)
      truth.asked.add(askedText({ mark: mark as MarkRecord['mark'], markedAt }))
    })
  }

  return {
    truths,
    journalObserver,
    ...{ hotObserver, watch },
    /** A mark that was stored from the start. */
    begin(key: MarkKey, record: MarkRecord): void {
      const truth = truths.of(key)
      truth.asked.add(askedText(record))
      truths.change(truth, record)
    },
    /** True if a put has brought the mark into the hot store. A mark with a server time is not checked. */
    hasLanded: ({ key, mark, markedAt }: SentMark): boolean => markedAt === undefined || hasLanded({ ...key, mark, markedAt }),
    fail,
    failure: () => failure,
    checkShown,
    checkAnswers,
    ...makePageRules(truths, fail),
    /** All likes of the viewer in a business. */
    likesOf: (viewer: ViewerId, business: BusinessNumber): KeyTruth[] =>
      [...truths.all()].filter(({ key, now }) => key.viewer === viewer && key.business === business && now?.mark === 'LIKE'),
    hasChangedSince: (truth: KeyTruth, since: number) => truths.isDoubtful(truth, since) || truths.stoodSince(truth, since).length > 1,
  }
}

/** With several marks of a key in one call, their times decide which is the last. */
function isAloneOfNow(sent: readonly SentMark[], key: MarkKey): boolean {
  return sent.filter((each) => each.isNow && keyText(each.key) === keyText(key)).length === 1
}
