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
import type { BusinessNumber, Place, ProgressKey, ProgressRecord, RewardEvent, TimelineEntry, ViewerId } from '../../core/domain.ts'
import { comparePlaces } from '../../core/places.ts'
import { isSettingsKey, keyText } from '../../core/progress-key.ts'
import { viewerOf as viewerOfEntry } from '../../stores/journal-entry.ts'
import type { JournalEntry } from '../../stores/journal.ts'
import type { FlushMessage } from '../../stores/log.ts'
import type { ProgressWrite, PutOutcome } from '../../stores/hot-store.ts'
import type { ReportAnswer } from '../../subgraphs/history/service.ts'
import type { TimelinePage } from '../../subgraphs/history/timeline.ts'
import type { HotObserver, HotState } from './model-hot-state.ts'
import type { JournalObserver } from './model-journals.ts'
import type { LogObserver } from './model-log.ts'
import type { RecordState } from './model-record-store.ts'

/** What a viewer has to see of a key. */
export type Shown = { viewedAt: number; resume: ProgressRecord; version: number }
type KeyModel = {
  key: ProgressKey
  voided: number
  shown: Shown | undefined
  changes: { tick: number; shown: Shown | undefined }[]
  /** Merges that a journal still owes. */
  merges: number
  /** What was put without a base since the last of them, and everything else that happened to the key after that. */
  guesses: number
  /** The last tick at which what is shown could not be judged. */
  doubtfulUntil: number
}
type ViewerModel = {
  paused: boolean
  clearedAt: Record<BusinessNumber, number>
  keys: Map<string, KeyModel>
  lastDay: Record<BusinessNumber, number>
  /** The tick of the last switch. */
  switchedAt: number
}

export class Violation extends Error {
  readonly viewer: ViewerId | undefined
  constructor(message: string, viewer: ViewerId | undefined) {
    super(message)
    this.viewer = viewer
  }
}

export type CheckerOptions = {
  now: () => number
  /** Milliseconds after its last write from which on a record may be gone; undefined = never. */
  retentionMs: number | undefined
  timelineCap: number
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
  /** Entries of journals, and when they were durable. */
  const entriesSince = new Map<JournalEntry, number>()
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
    sent: readonly { device: string; key: ProgressKey; isBad: boolean }[],
    answers: readonly ReportAnswer[],
    since: number,
  ): void {
    if (answers.length !== sent.length) fail(`${sent.length} reports got ${answers.length} answers`, viewer)
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
      if (answer.outcome === 'STALE' && answer.record === undefined) return
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

  function journalObserver(hot: HotState, records: RecordState): JournalObserver {
    return {
      appended(entry) {
        entriesSince.set(entry, ++tick)
        if (entry.kind === 'put') for (const { record } of entry.writes) journaled.add(record.device)
        if (entry.kind === 'base') for (const key of entry.keys) keyOf(key).merges++
      },
      removed(entry) {
        const since = entriesSince.get(entry) ?? 0
        entriesSince.delete(entry)
        if (entry.kind === 'base') for (const key of entry.keys) merged(keyOf(key), hot, records)
        const missing = missingOf(entry, since, hot)
        if (missing !== undefined) fail(`line 6: a journal forgets ${missing}, which the hot store never had`, viewerOfEntry(entry))
      },
    }
  }

  /** What of this entry the hot store does not know. */
  function missingOf(entry: JournalEntry, since: number, hot: HotState): string | undefined {
    if (entry.kind === 'put') {
      const lost = entry.writes.find(({ record }) => (landed.get(record.device) ?? -1) < since)
      return lost === undefined ? undefined : `report ${lost.record.device}`
    }
    const isLeft = ({ shown, guesses }: KeyModel): boolean => guesses === 0 && shown !== undefined && shown.viewedAt <= entry.now
    if (entry.kind === 'delete') {
      const lost = entry.keys.find((key) => keyOf(key).voided < entry.now && isLeft(keyOf(key)))
      return lost === undefined ? undefined : `the deletion of ${nameOf(lost)}`
    }
    if (entry.kind === 'clear') {
      const { clearedAt, keys } = viewerOf(entry.viewer)
      if ((clearedAt[entry.business] ?? 0) >= entry.now) return undefined
      // What came meanwhile came after the look at what there is.
      const wasThere = (model: KeyModel): boolean => (model.changes.at(-1)?.tick ?? 0) < since && model.doubtfulUntil < since
      const lost = [...keys.values()].find((model) => model.key.business === entry.business && isLeft(model) && wasThere(model))
      return lost === undefined ? undefined : `the clearing of business ${entry.business}`
    }
    if (entry.kind === 'base') return undefined
    const { paused, switchedAt } = viewerOf(entry.viewer)
    const isOvertaken = switchedAt > since || hot.settingsOf(entry.viewer).version / 1024 > entry.now
    return paused === entry.paused || isOvertaken ? undefined : `that paused is ${entry.paused}`
  }

  /** All that was owed to the key is merged: now the stores have what they ought to have. */
  function merged(model: KeyModel, hot: HotState, records: RecordState): void {
    if (--model.merges > 0 || model.guesses === 0) return
    const found = hot.recordOf(model.key) ?? records.rows.get(keyText(model.key))?.record
    const visible = found === undefined || found.deleted || found.viewedAt <= voidedOf(model) ? undefined : found
    const isRight = visible?.viewedAt === model.shown?.viewedAt && visible?.rank === model.shown?.resume.rank
    if (model.guesses === 1 && !isRight && !mayBeExpired(model.shown)) {
      fail(`line 3: ${nameOf(model.key)} was merged to ${textOf(found)}, but it ought to be ${textOf(model.shown)}`, model.key.viewer)
    }
    model.guesses = 0
    model.doubtfulUntil = tick
    change(model, visible === undefined ? undefined : { viewedAt: visible.viewedAt, resume: visible, version: visible.version })
  }

  /** After quiet: the record store alone holds what was acknowledged, and nothing waits anywhere. */
  function checkQuiet(
    hot: HotState,
    records: RecordState,
    log: { lag(): number; rewards: readonly RewardEvent[] },
    left: readonly JournalEntry[],
    regions: readonly number[],
    mayLeaveRows: boolean,
  ): void {
    for (const key of hot.listDirty(regions, Infinity, Infinity)) fail(`line 2: after quiet ${nameOf(key)} is still dirty`, key.viewer)
    for (const entry of left) fail(`line 6: after quiet a ${entry.kind} is still in a journal`, viewerOfEntry(entry))
    if (log.lag() > 0) fail(`line 2: after quiet ${log.lag()} messages are not committed`, undefined)
    const [pending] = hot.listRewards(regions, Infinity, 1)
    if (pending !== undefined) fail(`line 2: after quiet reward ${pending.id} is still pending`, pending.viewer)
    checkRewards(log.rewards)
    for (const [viewer, model] of viewers) checkStoredViewer(viewer, model, hot, records, mayLeaveRows)
  }

  /** Consumers drop ids they have seen: so a claim may be logged again, but never under a second id. */
  function checkRewards(logged: readonly RewardEvent[]): void {
    const ids = new Map<string, string>()
    for (const reward of logged) {
      const text = claimText(reward)
      const id = ids.get(text)
      if (!claims.has(text)) fail(`reward ${reward.id} is in the log, but nobody earned it`, reward.viewer)
      if (id !== undefined && id !== reward.id) fail(`one reward is in the log as ${id} and as ${reward.id}`, reward.viewer)
      ids.set(text, reward.id)
    }
    for (const [text, viewer] of claims) if (!ids.has(text)) fail(`line 2: the reward of ${text} never reached the log`, viewer)
  }

  function checkStoredViewer(viewer: ViewerId, model: ViewerModel, hot: HotState, records: RecordState, mayLeaveRows: boolean): void {
    const settings = records.settings.get(viewer)
    if ((settings?.paused ?? false) !== model.paused)
      fail(`line 2: after quiet viewer ${viewer} is stored as paused ${settings?.paused}`, viewer)
    for (const [business, clearedAt] of Object.entries(model.clearedAt)) {
      const stored = settings?.clearedAt[Number(business)] ?? 0
      if (stored !== clearedAt)
        fail(`line 2: after quiet the watermark of business ${business} is stored as ${stored}, not ${clearedAt}`, viewer)
    }
    const listed = new Map<number, number>()
    for (const { key, shown } of model.keys.values()) {
      const row = records.rows.get(keyText(key))?.record
      const isCleared = row !== undefined && row.viewedAt <= (model.clearedAt[key.business] ?? 0)
      if (isCleared && !mayLeaveRows) fail(`line 3: after quiet ${nameOf(key)} was cleared, but its row is still there`, viewer)
      const visible = row === undefined || row.deleted || isCleared ? undefined : row
      if (!isShown(visible, shown) && !mayBeExpired(shown))
        fail(`line 2: after quiet ${nameOf(key)} is stored as ${textOf(row)}, not ${textOf(shown)}`, viewer)
      const held = hot.recordOf(key)
      if (held === undefined || held.deleted) continue
      listed.set(key.business, (listed.get(key.business) ?? 0) + 1)
      if (!isShown(held, shown))
        fail(`line 1: after quiet the hot store has ${nameOf(key)} as ${textOf(held)}, not ${textOf(shown)}`, viewer)
    }
    for (const [business, count] of listed) {
      if (count > options.timelineCap)
        fail(`after quiet the hot timeline of business ${business} has ${count} entries, its cap is ${options.timelineCap}`, viewer)
    }
  }

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

function isShown(record: ProgressRecord | undefined, shown: Shown | undefined): boolean {
  if (record === undefined || shown === undefined) return record === undefined && shown === undefined
  const { resume } = shown
  return (
    record.viewedAt === shown.viewedAt &&
    record.rank === resume.rank &&
    record.position === resume.position &&
    record.duration === resume.duration &&
    record.device === resume.device &&
    record.finished === resume.finished &&
    !record.deleted
  )
}

function claimText({ viewer, business, day }: Pick<RewardEvent, 'viewer' | 'business' | 'day'>): string {
  return `viewer ${viewer} in business ${business} on day ${day}`
}

function placeOf(entry: TimelineEntry): Place {
  return { viewedAt: entry.record.viewedAt, business: entry.business, oid: entry.oid }
}

function nameOf(subject: { viewer?: string; business: number; oid: string }): string {
  return `${subject.viewer === undefined ? '' : `viewer ${subject.viewer} `}${subject.business}:${subject.oid}`
}

function textOf(state: ProgressRecord | Shown | undefined): string {
  if (state === undefined) return 'nothing'
  if ('resume' in state) return `{viewed ${state.viewedAt}, position ${state.resume.position} by ${state.resume.device}}`
  return `{viewed ${state.viewedAt}, position ${state.position} by ${state.device}${state.deleted ? ', deleted' : ''}}`
}
