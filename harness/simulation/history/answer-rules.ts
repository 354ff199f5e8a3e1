/** The checker's rules for the answers to reports: an acknowledged report was written or journaled, and a shown record is right. */
import { ATTEMPTS_MAX } from '../../../writeback/put.ts'
import type { ProgressKey, ViewerId } from '../../../core/domain.ts'
import { keyText } from '../../../core/progress-key.ts'
import type { ReportAnswer } from '../../../subgraphs/history/write/service.ts'
import type { Fail } from '../violation.ts'
import type { KeyModels } from './key-models.ts'
import type { Reports } from './put-rules.ts'
import type { ReadRules } from './read-rules.ts'
import { nameOf } from './shown.ts'

type Sent = { device: string; key: ProgressKey; isBad: boolean; isNow: boolean }

/** `journaled`: reports that were durable in a journal, by their device. */
export function makeAnswerRules(
  { checkShown }: ReadRules,
  { keyOf, shownSince }: Pick<KeyModels, 'keyOf' | 'shownSince'>,
  fail: Fail,
  { arrived }: Reports,
  journaled: ReadonlySet<string>,
) {
  function checkAnswers(viewer: ViewerId, sent: readonly Sent[], answers: readonly ReportAnswer[], since: number, mayLack: boolean): void {
    if (answers.length !== sent.length) fail(`${sent.length} reports got ${answers.length} answers`, viewer)
    checkReportsOfNow(viewer, sent, answers, since)
    sent.forEach((each, index) => checkAnswer(viewer, each, answers[index] as ReportAnswer, since, mayLack))
  }

  /**
   * If a call has several reports of a key, the newest may overtake the older ones. Concurrent calls may overtake a report as often as it
   * is put.
   */
  function checkReportsOfNow(viewer: ViewerId, sent: readonly Sent[], answers: readonly ReportAnswer[], since: number): void {
    const judged = sent.filter(({ key, isBad, isNow }) => isNow && !isBad && shownSince(keyOf(key), since).length <= ATTEMPTS_MAX)
    const ofNow = new Map(judged.map(({ key }) => [keyText(key), [] as string[]]))
    sent.forEach(({ key, isBad, isNow }, index) => {
      if (isNow && !isBad) ofNow.get(keyText(key))?.push((answers[index] as ReportAnswer).outcome)
    })
    for (const [key, outcomes] of ofNow) {
      if (!outcomes.some((outcome) => outcome !== 'STALE'))
        fail(`line 3: a report of ${key} with the present time was answered STALE`, viewer)
    }
  }

  function checkAnswer(viewer: ViewerId, { device, key, isBad }: Sent, answer: ReportAnswer, since: number, mayLack: boolean): void {
    if (isBad !== (answer.outcome === 'REJECTED')) fail(`line 7: report ${device} was answered ${answer.outcome}`, viewer)
    if (answer.outcome !== 'ACCEPTED' && answer.outcome !== 'STALE') return
    if (keyText(answer.key) !== keyText(key)) fail(`the answer to ${device} is about ${nameOf(answer.key)}`, viewer)
    // A journaled report is shown once it has reached the hot store.
    if (journaled.has(device)) return
    if (!arrived.has(device) || (answer.outcome === 'ACCEPTED' && arrived.get(device) === false)) {
      fail(`line 1: report ${device} was acknowledged as ${answer.outcome}, but nothing was written`, viewer)
    }
    // Records behind the hot timeline are read afterwards, when a store may have failed.
    if (answer.outcome === 'STALE' && answer.clearedAt !== undefined && mayLack) return
    if (answer.outcome === 'STALE' && answer.record === undefined && mayLack) return
    if (answer.outcome === 'STALE' && answer.record === undefined && answer.clearedAt === undefined)
      fail(`line 7: report ${device} was answered STALE without the stored record`, viewer)
    checkShown(key, answer.record, since, `the answer to ${device}`)
  }

  return checkAnswers
}
