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
import type { Place, ProgressKey, ProgressRecord, ViewerId } from '../../../core/domain.ts'
import { comparePlaces } from '../../../subgraphs/history/model/places.ts'
import { isSettingsKey, keyText } from '../../../core/progress-key.ts'
import type { FlushMessage } from '../../../writeback/log.ts'
import type { ProgressWrite, PutOutcome } from '../../../subgraphs/history/stores/hot-store.ts'
import type { ReportAnswer } from '../../../subgraphs/history/write/service.ts'
import type { TimelinePage } from '../../../subgraphs/history/read/timeline.ts'
import type { HotState } from './model-hot-state.ts'
import type { HotObserver } from './model-timelines.ts'
import { makeJournalRules } from './journal-rules.ts'
import type { LogObserver } from './model-log.ts'
import type { RecordState } from './model-record-store.ts'
import { makeQuietRules } from './quiet-rules.ts'
import { claimText, isShown, nameOf, placeOf, textOf, Violation, type KeyModel, type Shown, type ViewerModel } from './shown.ts'

export type CheckerOptions = {
  now: () => number
  /** Milliseconds after its last write from which on a record may be gone; undefined = never. */
  retentionMs: number | undefined
  timelineCap: number
  /** The most that a put may lie ahead: the difference between process clocks, plus a little per overtaken report. */
  aheadMaxMs: number
}

export type Checker = ReturnType<typeof makeChecker>

export function makeChecker(options: CheckerOptions) {
  const viewers = new Map<ViewerId, ViewerModel>()
  /** First views of a day, and who had them. */
  const claims = new Map<string, ViewerId>()
  /** Reports by their device, which names each of them; true = it changed something. */
  const arrived = new Map<string, boolean>()
  /** Reports that reached the hot store, by their device, whatever it made of them: when they last did. */
  const landed = new Map<string, number>()
  const journaled = new Set<string>()
  let tick = 0
  let failure: Violation | undefined

  function fail(message: string, viewer: ViewerId | undefined): void {
    failure ??= new Violation(message, viewer)
  }

  function viewerOf(viewer: ViewerId): ViewerModel {
    let model = viewers.get(viewer)
    if (model === undefined) {
      model = { paused: false, clearedAt: {}, keys: new Map(), lastDay: {}, switchedAt: 0 }
      viewers.set(viewer, model)
    }
    return model
  }

  function keyOf(key: ProgressKey): KeyModel {
    const { keys } = viewerOf(key.viewer)
    const text = `${key.business}:${key.oid}`
    let model = keys.get(text)
    if (model === undefined) {
      model = {
        key: { viewer: key.viewer, business: key.business, oid: key.oid },
        voided: 0,
        shown: undefined,
        changes: [{ tick: -1, shown: undefined }],
        merges: 0,
        guesses: 0,
        doubtfulUntil: -1,
      }
      keys.set(text, model)
    }
    return model
  }

  function change(model: KeyModel, shown: Shown | undefined): void {
    model.shown = shown
    model.changes.push({ tick: ++tick, shown })
  }

  function isDoubtful(model: KeyModel, since: number): boolean {
    return model.guesses > 0 || model.doubtfulUntil >= since
  }

  function mayBeExpired(shown: Shown | undefined): boolean {
    return shown !== undefined && options.retentionMs !== undefined && shown.version / 1024 < options.now() - options.retentionMs
  }

  /** The twenty lines: the newest visit orders, the highest rank resumes, of equals the later arrival. */
  function after(before: Shown | undefined, voidedUntil: number, report: ProgressRecord): Shown | undefined {
    if (report.viewedAt <= voidedUntil) return before
    if (before === undefined) return { viewedAt: report.viewedAt, resume: report, version: 0 }
    const outranks = report.rank >= before.resume.rank
    if (!outranks && report.viewedAt <= before.viewedAt) return before
    return { viewedAt: Math.max(before.viewedAt, report.viewedAt), resume: outranks ? report : before.resume, version: 0 }
  }

  function put(write: ProgressWrite, outcome: PutOutcome, isGuess: boolean): void {
    if (outcome.status === 'needs-base') return
    // A merge of what the record store has: it says nothing new.
    if (write.merges === true) return
    landed.set(write.record.device, ++tick)
    if (write.record.viewedAt > options.now() + options.aheadMaxMs)
      fail(`line 3: report ${write.record.device} is put at ${write.record.viewedAt}, ahead of every clock`, write.viewer)
    const viewer = viewerOf(write.viewer)
    const name = `${nameOf(write)} by ${write.record.device}`
    if ((outcome.status === 'paused') !== viewer.paused)
      fail(`report of ${name}: ${outcome.status}, although paused is ${viewer.paused}`, write.viewer)
    if (outcome.status === 'paused') return
    const model = keyOf(write)
    const voided = voidedOf(model)
    if (isGuess || model.guesses > 0) {
      guess(viewer, model, write, outcome)
      return
    }
    const befores = mayBeExpired(model.shown) ? [model.shown, undefined] : [model.shown]
    const fitting = befores.findIndex((before) => fits(before, voided, write, outcome))
    if (fitting < 0) {
      fail(
        `line 3: report of ${name} was ${outcome.status} as ${textOf(outcome.record)}, but before it stood ${textOf(model.shown)}`,
        write.viewer,
      )
      return
    }
    const before = befores[fitting]
    arrived.set(write.record.device, outcome.status === 'written' || arrived.get(write.record.device) === true)
    if (outcome.status !== 'written') {
      if (before !== model.shown) change(model, before)
      return
    }
    const shown = after(before, voided, write.record) as Shown
    change(model, { ...shown, version: outcome.record.version })
    claim(viewer, write, outcome.firstOfDay)
  }

  function voidedOf(model: KeyModel): number {
    return Math.max(model.voided, viewerOf(model.key.viewer).clearedAt[model.key.business] ?? 0)
  }

  /** The outcome is no more than a guess; what it ought to be is known here. */
  function guess(viewer: ViewerModel, model: KeyModel, write: ProgressWrite, outcome: PutOutcome): void {
    model.guesses++
    arrived.set(write.record.device, outcome.status === 'written' || arrived.get(write.record.device) === true)
    if (outcome.status !== 'written') return
    const expected = after(mayBeExpired(model.shown) ? undefined : model.shown, voidedOf(model), write.record)
    change(model, expected === undefined ? undefined : { ...expected, version: outcome.record.version })
    claim(viewer, write, outcome.firstOfDay)
  }

  function fits(
    before: Shown | undefined,
    voided: number,
    write: ProgressWrite,
    outcome: Extract<PutOutcome, { record: unknown }>,
  ): boolean {
    const expected = after(before, voided, write.record)
    // What was viewed before a clearing is refused at once, without a look at what the record store may have.
    if (outcome.status === 'stale' && outcome.record === undefined && write.record.viewedAt <= voided) return true
    return (outcome.status === 'written') === (expected !== before) && isShown(outcome.record, expected)
  }

  function claim(viewer: ViewerModel, { viewer: id, business, day }: ProgressWrite, firstOfDay: boolean): void {
    const isFirst = day !== undefined && day > (viewer.lastDay[business] ?? -1)
    if (isFirst !== firstOfDay) fail(`first of day ${day} is told as ${firstOfDay}`, id)
    if (!isFirst) return
    viewer.lastDay[business] = day
    claims.set(claimText({ viewer: id, business, day }), id)
  }

  const hotObserver: HotObserver = {
    put,
    deleted(key, { record }, now) {
      const model = keyOf(key)
      if (model.merges > 0) {
        // A merge deletes what is older than a deletion that the record store knew.
        if (record.since <= voidedOf(model)) return
        model.guesses++
      } else if (record.since < Math.max(now, model.shown?.viewedAt ?? 0)) {
        fail(`line 3: deleting ${nameOf(key)} reaches ${record.since} only, but it was viewed at ${model.shown?.viewedAt}`, key.viewer)
      }
      model.voided = Math.max(model.voided, record.since)
      change(model, undefined)
    },
    cleared(viewer, business, clearedAt) {
      const model = viewerOf(viewer)
      model.clearedAt[business] = clearedAt
      for (const each of model.keys.values()) {
        if (each.key.business !== business) continue
        if (each.merges > 0) each.guesses++
        if (each.shown === undefined) continue
        if (each.merges === 0 && each.shown.viewedAt > clearedAt)
          fail(`line 3: clearing reaches ${clearedAt} only, but ${nameOf(each.key)} was viewed at ${each.shown.viewedAt}`, viewer)
        change(each, undefined)
      }
      tick++
    },
    paused(viewer, paused) {
      viewerOf(viewer).paused = paused
      viewerOf(viewer).switchedAt = ++tick
    },
  }

  /** What the key was shown as between `since` and now. */
  function shownSince(model: KeyModel, since: number): (Shown | undefined)[] {
    const found: (Shown | undefined)[] = mayBeExpired(model.shown) ? [undefined] : []
    for (let index = model.changes.length - 1; index >= 0; index--) {
      const { tick: at, shown } = model.changes[index] as (typeof model.changes)[number]
      found.push(shown)
      if (mayBeExpired(shown)) found.push(undefined)
      if (at <= since) break
    }
    return found
  }

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
    let last = before
    for (const entry of page.entries) {
      const place = placeOf(entry)
      if (last !== undefined && comparePlaces(last, place) >= 0) fail(`${what} is out of order at ${nameOf(entry)}`, viewer)
      last = place
      checkShown({ viewer, business: entry.business, oid: entry.oid }, entry.record, since, what)
    }
    if (page.entries.length > first) fail(`${what} has ${page.entries.length} entries, ${first} were asked for`, viewer)
    const listed = new Set(page.entries.map((entry) => `${entry.business}:${entry.oid}`))
    if (listed.size < page.entries.length) fail(`${what} lists a subject twice`, viewer)
    const end = page.hasNextPage ? last : undefined
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
    if (page.hasNextPage && !isMore && !changed) fail(`${what} promises a next page, but nothing follows`, viewer)
  }

  function checkAnswers(
    viewer: ViewerId,
    sent: readonly { device: string; key: ProgressKey; isBad: boolean; isNow: boolean }[],
    answers: readonly ReportAnswer[],
    since: number,
    mayLack: boolean,
  ): void {
    if (answers.length !== sent.length) fail(`${sent.length} reports got ${answers.length} answers`, viewer)
    const ofNow = new Map(sent.flatMap(({ key, isBad, isNow }) => (isNow && !isBad ? [[keyText(key), [] as string[]] as const] : [])))
    sent.forEach(({ key, isBad, isNow }, index) => {
      if (isNow && !isBad) ofNow.get(keyText(key))?.push((answers[index] as ReportAnswer).outcome)
    })
    // If a call has several reports of a key, the newest may overtake the older ones.
    for (const [key, outcomes] of ofNow) {
      if (!outcomes.some((outcome) => outcome !== 'STALE')) fail(`line 3: a report of now of ${key} was answered STALE`, viewer)
    }
    sent.forEach(({ device, key, isBad }, index) => {
      const answer = answers[index] as ReportAnswer
      if (isBad !== (answer.outcome === 'REJECTED')) fail(`line 7: report ${device} was answered ${answer.outcome}`, viewer)
      if (answer.outcome !== 'ACCEPTED' && answer.outcome !== 'STALE') return
      if (keyText(answer.key) !== keyText(key)) fail(`the answer to ${device} is about ${nameOf(answer.key)}`, viewer)
      // What is journaled is shown when it has reached the hot store.
      if (journaled.has(device)) return
      if (!arrived.has(device) || (answer.outcome === 'ACCEPTED' && arrived.get(device) === false)) {
        fail(`line 1: report ${device} was acknowledged as ${answer.outcome}, but nothing was written`, viewer)
      }
      // Records behind the hot timeline are read afterwards, when a store may have failed.
      if (answer.outcome === 'STALE' && answer.clearedAt !== undefined && mayLack) return
      if (answer.outcome === 'STALE' && answer.record === undefined && mayLack) return
      if (answer.outcome === 'STALE' && answer.record === undefined && answer.clearedAt === undefined)
        fail(`line 7: report ${device} was answered STALE without a word of what is stored`, viewer)
      checkShown(key, answer.record, since, `the answer to ${device}`)
    })
  }

  function logObserver(hot: HotState, records: RecordState): LogObserver {
    const announced = new Map<FlushMessage, { key: ProgressKey; version: number; viewedAt: number }[]>()
    return {
      appended(message) {
        const versions = message.keys.map((key) => {
          if (isSettingsKey(key)) return { key, version: hot.settingsOf(key.viewer).version, viewedAt: Infinity }
          const record = hot.recordOf(key)
          return { key, version: record?.version ?? 0, viewedAt: record?.viewedAt ?? 0 }
        })
        announced.set(message, versions)
      },
      committed(messages) {
        for (const { key, version, viewedAt } of messages.flatMap((message) => announced.get(message) ?? [])) {
          if (!isSettingsKey(key) && (keyOf(key).merges > 0 || keyOf(key).doubtfulUntil >= 0)) continue
          const stored = isSettingsKey(key) ? records.settings.get(key.viewer) : records.rows.get(keyText(key))?.record
          // Deleted twice at one moment is one tombstone, whichever version it has.
          if (stored !== undefined && 'deleted' in stored && stored.deleted && stored.since >= viewedAt) continue
          if ((stored?.version ?? 0) >= version || (viewerOf(key.viewer).clearedAt[key.business] ?? 0) >= viewedAt) continue
          if (options.retentionMs !== undefined && version / 1024 < options.now() - options.retentionMs) continue
          fail(
            `line 2: a message about ${nameOf(key)} is committed, but the record store has ${textOf(stored as ProgressRecord | undefined)}`,
            key.viewer,
          )
        }
      },
    }
  }

  const journalObserver = makeJournalRules({
    fail,
    viewerOf,
    keyOf,
    voidedOf,
    change,
    mayBeExpired,
    tick: () => ++tick,
    landed,
    journaled,
  })
  const checkQuiet = makeQuietRules({ viewers, claims, fail, mayBeExpired, timelineCap: options.timelineCap })

  return {
    hotObserver,
    logObserver,
    journalObserver,
    fail,
    failure: () => failure,
    tick: () => tick,
    checkShown,
    checkPage,
    checkAnswers,
    checkQuiet,
    /** All that the viewer has to see now. */
    entriesOf: (viewer: ViewerId) => [...viewerOf(viewer).keys.values()].filter((model) => model.shown !== undefined),
    hasChangedSince: (key: ProgressKey, since: number) => isDoubtful(keyOf(key), since) || shownSince(keyOf(key), since).length > 1,
  }
}
