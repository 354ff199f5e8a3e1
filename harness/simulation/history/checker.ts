/**
 * The invariants of history, and the model behind them. The model is notified of every change at the instant it happens in the hot store,
 * for any client and with or without an answer. It therefore knows at each instant what each viewer must see. It has no regions, caps,
 * floors, flushes or dirty marks.
 *
 * A journaled change counts from the instant it reaches the hot store, and it must reach the hot store before it leaves the journal. While
 * the record store is down, a report is put without its base. Its key is then doubtful until the journal reports the merge. In the meantime
 * the model assumes the merge, and reads of the key are not judged. Afterwards the merged record is judged if nothing else happened to the
 * key, and otherwise trusted.
 *
 * A read may show each key as it was at any instant between its start and its end. A key that did not change meanwhile must be shown as it
 * is. "Line n" in messages is item n of "What must always hold" in ARCHITECTURE.md.
 */
import { makeAnswerRules } from './answer-rules.ts'
import type { HotState } from './model-hot-state.ts'
import { makeJournalRules } from './journal-rules.ts'
import { makeKeyModels } from './key-models.ts'
import { makeLogRules } from './log-rules.ts'
import type { LogObserver } from '../model-log.ts'
import type { HotObserver } from './model-timelines.ts'
import type { RecordState } from './model-record-store.ts'
import { makePutRules } from './put-rules.ts'
import { makeQuietRules } from './quiet-rules.ts'
import { makeReadRules } from './read-rules.ts'
import { makeRemovalRules } from './removal-rules.ts'
import { Violation, type Fail } from '../violation.ts'

export type CheckerOptions = {
  now: () => number
  /** Milliseconds after its last write from which a record may be gone. Undefined = never. */
  retentionMs: number | undefined
  timelineCap: number
  /** The most that the time of a put may be ahead: the difference between process clocks, plus a little per overtaken report. */
  aheadMaxMs: number
}

export type Checker = ReturnType<typeof makeChecker>

export function makeChecker({ now, retentionMs, timelineCap, aheadMaxMs }: CheckerOptions) {
  let failure: Violation | undefined
  const fail: Fail = (message, viewer) => {
    failure ??= new Violation(message, viewer)
  }
  const models = makeKeyModels(now, retentionMs)
  const { viewers, mayBeExpired, tick, entriesOf, hasChangedSince } = models
  const journaled = new Set<string>()
  const { put, claims, reports } = makePutRules(models, fail, { now, aheadMaxMs })
  const readRules = makeReadRules(models, fail)
  return {
    hotObserver: { put, ...makeRemovalRules(models, fail) } satisfies HotObserver,
    logObserver: (hot: HotState, records: RecordState): LogObserver => makeLogRules(models, fail, hot, records),
    journalObserver: makeJournalRules(models, fail, reports, journaled),
    fail,
    failure: () => failure,
    ...{ tick, entriesOf, hasChangedSince },
    ...readRules,
    checkAnswers: makeAnswerRules(readRules, models, fail, reports, journaled),
    checkQuiet: makeQuietRules({ viewers, claims, fail, mayBeExpired, timelineCap }),
  }
}
