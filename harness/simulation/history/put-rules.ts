/** The checker's rules for reports, at the instant they reach the hot store: each wins or loses by the rule (line 3). */
import { claimedBusiness } from '../../../core/rewards.ts'
import type { ProgressRecord, ViewerId } from '../../../core/domain.ts'
import type { ProgressWrite, PutOutcome } from '../../../subgraphs/history/stores/hot-store.ts'
import type { Fail } from '../violation.ts'
import type { KeyModels } from './key-models.ts'
import { claimText, isShown, nameOf, textOf, type KeyModel, type Shown, type ViewerModel } from './shown.ts'

/** The outcome of each report, by its device, which identifies the report. */
export type Reports = {
  /** True = the report changed the record. */
  arrived: Map<string, boolean>
  /** Reports that reached the hot store, with any outcome, and the tick of the last arrival. */
  landed: Map<string, number>
}

export type PutRulesOptions = {
  now: () => number
  /** The most that the time of a put may be ahead: the difference between process clocks, plus a little per overtaken report. */
  aheadMaxMs: number
}

export function makePutRules(models: KeyModels, fail: Fail, { now, aheadMaxMs }: PutRulesOptions) {
  const { viewerOf, keyOf, voidedOf, change, mayBeExpired } = models
  const reports: Reports = { arrived: new Map(), landed: new Map() }
  const { arrived, landed } = reports
  /** First views of a day, with their viewers. */
  const claims = new Map<string, ViewerId>()

  function put(write: ProgressWrite, outcome: PutOutcome, isGuess: boolean): void {
    if (outcome.status === 'needs-base') return
    // A merge with the record store has no new content.
    if (write.merges === true) return
    landed.set(write.record.device, models.nextTick())
    if (write.record.viewedAt > now() + aheadMaxMs)
      fail(`line 3: report ${write.record.device} is put at ${write.record.viewedAt}, ahead of every clock`, write.viewer)
    const viewer = viewerOf(write.viewer)
    if ((outcome.status === 'paused') !== viewer.paused)
      fail(`report of ${reportText(write)}: ${outcome.status}, although paused is ${viewer.paused}`, write.viewer)
    if (outcome.status === 'paused') return
    const model = keyOf(write)
    if (isGuess || model.guesses > 0) guess(viewer, model, write, outcome)
    else judge(viewer, model, write, outcome)
  }

  /** The outcome is only a guess. The model knows the right one. */
  function guess(viewer: ViewerModel, model: KeyModel, write: ProgressWrite, outcome: PutOutcome): void {
    model.guesses++
    noteArrival(write, outcome)
    if (outcome.status !== 'written') return
    const expected = after(mayBeExpired(model.shown) ? undefined : model.shown, voidedOf(model), write.record)
    change(model, expected === undefined ? undefined : { ...expected, version: outcome.record.version })
    claim(viewer, write, outcome.firstOfDay)
  }

  function judge(viewer: ViewerModel, model: KeyModel, write: ProgressWrite, outcome: Extract<PutOutcome, { record: unknown }>): void {
    const voided = voidedOf(model)
    const befores = mayBeExpired(model.shown) ? [model.shown, undefined] : [model.shown]
    const fitting = befores.findIndex((before) => fits(before, voided, write, outcome))
    if (fitting < 0) {
      fail(
        `line 3: report of ${reportText(write)} was ${outcome.status} as ${textOf(outcome.record)}, but the record before was ${textOf(model.shown)}`,
        write.viewer,
      )
      return
    }
    const before = befores[fitting]
    noteArrival(write, outcome)
    if (outcome.status !== 'written') {
      if (before !== model.shown) change(model, before)
      return
    }
    const shown = after(before, voided, write.record) as Shown
    change(model, { ...shown, version: outcome.record.version })
    claim(viewer, write, outcome.firstOfDay)
  }

  function noteArrival({ record: { device } }: ProgressWrite, { status }: PutOutcome): void {
    arrived.set(device, status === 'written' || arrived.get(device) === true)
  }

  function claim(viewer: ViewerModel, write: ProgressWrite, firstOfDay: boolean): void {
    const { viewer: id, day } = write
    const business = claimedBusiness(write)
    const isFirst = day !== undefined && day > (viewer.lastDay[business] ?? -1)
    if (isFirst !== firstOfDay) fail(`first of day ${day} is reported as ${firstOfDay}`, id)
    if (!isFirst) return
    viewer.lastDay[business] = day
    claims.set(claimText({ viewer: id, business, day }), id)
  }

  return { put, claims, reports }
}

/** The rule in a few lines: the newest visit orders, the highest rank is the resume point, and equal ranks let the later arrival win. */
function after(before: Shown | undefined, voidedUntil: number, report: ProgressRecord): Shown | undefined {
  if (report.viewedAt <= voidedUntil) return before
  if (before === undefined) return { viewedAt: report.viewedAt, resume: report, version: 0 }
  const outranks = report.rank >= before.resume.rank
  if (!outranks && report.viewedAt <= before.viewedAt) return before
  return { viewedAt: Math.max(before.viewedAt, report.viewedAt), resume: outranks ? report : before.resume, version: 0 }
}

function fits(before: Shown | undefined, voided: number, write: ProgressWrite, outcome: Extract<PutOutcome, { record: unknown }>): boolean {
  const expected = after(before, voided, write.record)
  // A visit before a clearing is refused at once, without a read of the record store.
  if (outcome.status === 'stale' && outcome.record === undefined && write.record.viewedAt <= voided) return true
  return (outcome.status === 'written') === (expected !== before) && isShown(outcome.record, expected)
}

function reportText(write: ProgressWrite): string {
  return `${nameOf(write)} by ${write.record.device}`
}
