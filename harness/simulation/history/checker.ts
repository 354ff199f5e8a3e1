/**
 * What must always hold, and the model it is compared with. The model is told of every change a client asked for at the
 * instant it happens in the hot store, whoever asked and whether he ever got his answer; so it knows at each instant what
 * each viewer has to see, without knowing of regions, caps, floors, flushes or dirty marks.
 *
 * What is journaled counts from when it reaches the hot store; what leaves a journal must have reached it. A report that
 * was put as if there was nothing to merge with, because the record store was down, makes its key doubtful until the journal
 * says that it was merged: until then the model goes on as if it had been merged, and nothing shown is judged. After that
 * the merged record is judged if nothing else happened to the key meanwhile, and else believed.
 *
 * A read may show each key as it was at any instant between its start and its end; a key that did not change meanwhile
 * has to be shown as it is. "Line n" is a line of the design's "What must always hold".
 */
import { makeAnswerRules } from './answer-rules.ts'
import type { HotState } from './model-hot-state.ts'
import { makeJournalRules } from './journal-rules.ts'
import { makeKeyModels, type Fail } from './key-models.ts'
import { makeLogRules } from './log-rules.ts'
import type { LogObserver } from '../model-log.ts'
import type { HotObserver } from './model-timelines.ts'
import type { RecordState } from './model-record-store.ts'
import { makePutRules } from './put-rules.ts'
import { makeQuietRules } from './quiet-rules.ts'
import { makeReadRules } from './read-rules.ts'
import { makeRemovalRules } from './removal-rules.ts'
import { Violation } from '../violation.ts'

export type CheckerOptions = {
  now: () => number
  /** Milliseconds after its last write from which on a record may be gone; undefined = never. */
  retentionMs: number | undefined
  timelineCap: number
  /** The most that a put may lie ahead: the difference between process clocks, plus a little per overtaken report. */
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
    checkAnswers: makeAnswerRules(readRules, fail, reports, journaled),
    checkQuiet: makeQuietRules({ viewers, claims, fail, mayBeExpired, timelineCap }),
  }
}
