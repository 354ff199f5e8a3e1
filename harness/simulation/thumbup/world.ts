/**
 * A world of marks: as the world of history (`../world.ts`), with viewers who like and undo, subjects of owners, a count
 * cache that may lose everything, outgoing events, and an archive that is at work in between.
 */
import type { MarkKey, MarkRecord, Subject } from '../../../core/domain.ts'
import { randomBelow, seededRandom } from '../../../core/random.ts'
import type { JournalEntry } from '../../../writeback/journal.ts'
import type { MarkRow } from '../../../subgraphs/thumbup/stores/record-store.ts'
import {
  makeMarkRecordsState,
  openModelMarkRecords,
  type MarkRecordsFaults,
  type MarkRecordsState,
} from '../../models/thumbup/record-store-model.ts'
import { makeMarkStoreState, type MarkStoreFaults } from '../../models/thumbup/hot-store-model.ts'
import type { StoreName } from '../gate.ts'
import type { History } from '../history-of-events.ts'
import { makeMachine, type JournalFaults, type Machine } from '../history/model-journals.ts'
import { makeLogState, type LogFaults } from '../history/model-log.ts'
import { makePlaces, type Place } from '../history/places.ts'
import type { Life } from '../life.ts'
import { makeScheduler, runSteps } from '../scheduler.ts'
import { drawRoles, START, type WorldReport } from '../history/world.ts'
import { makeMarkChecker } from './checker.ts'
import { makeMarkClients } from './clients.ts'
import { drawBusinesses, drawCrowd, drawPipelineOptions, drawRows, PATIENCE_MS, TOMBSTONE_MS } from './draws.ts'
import { makeCountCacheState, type CountCacheFaults } from './model-count-cache.ts'
import { makeMarkEventsState } from './model-events.ts'
import type { MarkTransactionFaults } from './model-records.ts'
import { startMarkProcess, type MarkProcess, type MarkWorldStores } from './process.ts'
import { checkMarksQuiet } from './quiet-rules.ts'
import { makeRecordRules, rowOf } from './record-rules.ts'
import { nameOf, type Stood } from './truth.ts'
import { compareMarkPlaces } from '../../../subgraphs/thumbup/model/places.ts'

export type MarkFaults = MarkStoreFaults & MarkRecordsFaults & MarkTransactionFaults & CountCacheFaults & LogFaults & JournalFaults

const REGIONS = 2
const STEPS_MAX = 200_000
/** Turns of the event loop, 64 steps each, for who waits for nothing else: some dozens, as many as there are devices and more. */
const STEPS_OF_TURNS = 64 * 64

type MarkPlace = Place<MarkProcess> & { machine: Machine }

export async function runMarkWorld(
  seed: number,
  options: { livelySteps: number; faults: MarkFaults },
  history?: History,
): Promise<WorldReport> {
  const { faults } = options
  const random = seededRandom(seed)
  const between = (from: number, to: number): number => from + randomBelow(random, to - from + 1)
  const chance = (of: number): boolean => random() < of

  const businesses = drawBusinesses(between, chance)
  const mends = chance(0.5)
  const pipelineOptions = drawPipelineOptions(businesses, mends, between, chance)
  const { thumbup, guard, journaling } = pipelineOptions
  const crowd = drawCrowd(between, chance)
  const stallMaxMs = between(100, chance(0.3) ? 1_500 : 400)
  const scheduler = makeScheduler(random, { start: START, stallChance: chance(0.5) ? 0 : 0.04, stallMaxMs }, history)
  const faultChance = chance(0.2) ? 0 : 0.025
  const actChance = between(10, 50) / 100
  const isSkewed = chance(0.3)
  const canLose = chance(0.2)

  const checker = makeMarkChecker()
  const hot = makeMarkStoreState(REGIONS, faults, checker.hotObserver)
  checker.watch(hot)
  const records = makeMarkRecordsState(faults)
  const isForgettable = (stood: Stood | undefined): boolean =>
    stood === undefined || (stood.mark === 'NONE' && stood.markedAt < scheduler.now() - TOMBSTONE_MS + 1_000)
  const mayBeForgotten = (key: MarkKey): boolean => isForgettable(checker.truths.of(key).now)
  /** Now or before: what stands there since may wait to be persisted. */
  const wasForgettable = (key: MarkKey): boolean =>
    checker.truths.of(key).changes.some(({ tick, stood }) => tick > 0 && isForgettable(stood))
  const rules = makeRecordRules({ records, fail: checker.fail, heldOf: (key) => hot.heldOf(key)?.record, wasForgettable })
  const logOptions = {
    regions: REGIONS,
    partitions: between(1, 2),
    batchMax: between(1, 4),
    retryMs: between(20, 300),
    sideBySide: true,
    faults,
  }
  const log = makeLogState(logOptions, rules.logObserver)
  const stores: MarkWorldStores = {
    hot,
    cache: makeCountCacheState(faults),
    log,
    records,
    events: makeMarkEventsState(),
    faults,
    changed: (name, args) => rules.changed(name, args, log),
  }
  const owners = ['o1', 'o2', '7'].slice(0, between(1, 3))
  fillRecords(records, drawRows(crowd, START, between, chance), chance(0.5) ? owners : [], chance(0.5))
  for (const { key, record } of rowsOf(records)) checker.begin(key, record)

  const clientOptions = {
    start: START,
    businesses,
    ...crowd,
    owners,
    aheadMaxMs: 500,
    lateMaxMs: chance(0.5) ? 500 : 3_000,
  }
  const clients = makeMarkClients(random, scheduler, checker, clientOptions, history)
  const newMachine = (): Machine => makeMachine(faults, checker.journalObserver)
  const shared = chance(0.5) ? newMachine() : undefined
  const places = drawRoles(between, chance).map((role): MarkPlace => ({
    role,
    machine: shared ?? newMachine(),
    process: undefined,
    starts: 0,
    stopping: '',
  }))
  let quietUntil: number | undefined
  /** Nobody begins anything until nothing is under way; then a long time passes. */
  let isResting = false
  let isExtended = false
  let stepsWaited = 0

  const { start, startMissing, restartOne, end, drain, breakOrMend, rebalance, serving } = makePlaces<MarkProcess, MarkPlace>(places, {
    ...{ random, scheduler, log, clients, checker, history },
    patienceMs: PATIENCE_MS,
    outageMaxMs: 6_000,
    launch(place, name) {
      const life: Life = { name, dead: false, skewMs: isSkewed ? between(-100, 100) : 0 }
      history?.note(scheduler.now(), `--- ${name} starts`)
      return startMarkProcess(scheduler, random, stores, place.machine, businesses, life, place.role, pipelineOptions, (error) =>
        history?.note(scheduler.now(), `${name}: ${String(error)}`),
      )
    },
  })

  function misfortune(): void {
    const place = places[randomBelow(random, places.length)] as MarkPlace
    const which = random()
    if (which < 0.25) {
      if (place.process === undefined) start(place, places.indexOf(place))
      else end(place, 'dies')
    } else if (which < 0.33) {
      if (place.process !== undefined) place.stopping ||= 'asked'
    } else if (which < 0.5) restartOne()
    else if (which < 0.7)
      breakOrMend((['hot', 'cache', 'log', 'records', 'records', 'events'] as const)[randomBelow(random, 6)] as StoreName)
    else if (which < 0.8) rebalance()
    else if (which < 0.84 && canLose) {
      history?.note(scheduler.now(), '--- the log loses what nobody committed')
      log.lose()
    } else if (which < 0.86) {
      history?.note(scheduler.now(), '--- a message nobody can read')
      log.appendUnreadable(randomBelow(random, REGIONS))
    } else if (which < 0.93 && mends) {
      history?.note(scheduler.now(), '--- the count cache loses everything')
      stores.cache.lose()
    } else isResting = true
  }

  /**
   * Only while nobody does anything, nothing waits to be persisted, and no call of the dead is still on its way: what expires
   * then has been at rest, and no call is as old as that.
   */
  function passLong(): boolean {
    if (clients.isBusy() || scheduler.underWay() > 0 || scheduler.stalled() > 0 || hot.countDirtyMarks() > 0 || journaled().length > 0)
      return false
    history?.note(scheduler.now(), '--- a long time passes, and viewers are forgotten')
    isResting = false
    clients.forget()
    scheduler.pass(between(TOMBSTONE_MS / 4, TOMBSTONE_MS * 1.5))
    hot.forgetIdle(() => chance(0.5))
    return true
  }

  function journaled(): JournalEntry[] {
    return [...new Set(places.map(({ machine }) => machine))].flatMap((machine) => machine.left())
  }

  function beginQuiet(): void {
    history?.note(scheduler.now(), '--- quiet begins')
    scheduler.calm()
    for (const store of ['hot', 'cache', 'log', 'records', 'events'] as const) if (scheduler.isDown(store)) scheduler.setDown(store, false)
    startMissing()
    const { sweepAfterMs, sweepEveryMs, publishEveryMs, windowMs, reconcileEveryMs } = thumbup
    const backMs = 2 * (guard.checkEveryMs ?? 0) + (journaling?.lookEveryMs ?? 0) + 2 * (journaling?.retryMaxMs ?? 0)
    // What a cache that has lost everything was told too late, a walk of the reconciler mends: two pages per business.
    const walkMs = mends ? 6 * reconcileEveryMs : 0
    const jobMs = sweepAfterMs + Math.max(3 * sweepEveryMs, 3 * publishEveryMs) + 2 * windowMs
    quietUntil = scheduler.now() + 500 + stallMaxMs + backMs + Math.max(jobMs, walkMs) + 300
  }

  function step(): boolean {
    if (checker.failure() !== undefined) return false
    if (scheduler.steps() > STEPS_MAX) throw new Error(`seed ${seed} does not come to rest in ${STEPS_MAX} steps`)
    // When it is quiet work takes no time: what takes long then is waiting, and that is what has a bound.
    scheduler.pass(quietUntil !== undefined ? 0 : chance(0.9) ? randomBelow(random, 4) : randomBelow(random, 60))
    if (quietUntil === undefined && scheduler.steps() > options.livelySteps) beginQuiet()
    drain()
    if ((scheduler.underWay() === 0 || chance(0.5)) && scheduler.fireDue()) return true
    if (quietUntil !== undefined) return stepQuiet(quietUntil)
    if (isResting && passLong()) return true
    const what = random()
    if (what < faultChance) misfortune()
    else if (what < faultChance + actChance && act()) return true
    else if (!scheduler.advanceOne()) idle()
    return true
  }

  function act(): boolean {
    return !isResting && clients.act(serving())
  }

  function idle(): void {
    if (act()) return
    const due = scheduler.nextDue()
    if (due !== undefined && due > scheduler.now()) scheduler.pass(due - scheduler.now())
  }

  /** Readers of one list take turns by `setImmediate`, which no step is: who asks last may wait for nothing else. */
  function mayWaitForTurn(): boolean {
    return clients.isBusy() && stepsWaited++ < STEPS_OF_TURNS
  }

  function stepQuiet(until: number): boolean {
    startMissing()
    if (scheduler.advanceOne()) return true
    const due = scheduler.nextDue()
    if (due === undefined) return mayWaitForTurn()
    if (due > until) {
      if (mayWaitForTurn()) return true
      if (isExtended || log.lag() === 0) return false
      // A partition has a batch per window.
      isExtended = true
      quietUntil = until + log.lag() * (thumbup.windowMs + 50)
    }
    scheduler.pass(Math.max(0, due - scheduler.now()))
    return true
  }

  places.forEach(start)
  await runSteps(step)
  if (checker.failure() === undefined) await checkAfterQuiet()
  return { steps: scheduler.steps(), failure: checker.failure() }

  async function checkAfterQuiet(): Promise<void> {
    if (clients.isBusy()) checker.fail('errors: a call was never answered', undefined)
    const quiet = { ...stores, left: journaled(), lag: log.lag(), mayBeForgotten }
    checkMarksQuiet(checker, quiet)
    if (checker.failure() !== undefined) return
    let isRead = false
    void clients.readAll(serving()[0] as MarkProcess, checkCounted).then(
      () => (isRead = true),
      (error: unknown) => checker.fail(`after quiet: ${String(error)}`, undefined),
    )
    await runSteps(() => {
      scheduler.pass(1)
      if (scheduler.steps() > STEPS_MAX) throw new Error(`seed ${seed} does not come to rest in ${STEPS_MAX} steps`)
      if (!scheduler.fireDue()) scheduler.advanceOne()
      return !isRead && checker.failure() === undefined
    })
  }

  /** What everybody is shown of a subject is what its rows are. */
  function checkCounted(subject: Subject, counts: unknown, likers: readonly { id: string; markedAt: number }[]): void {
    const stored = records.counts.get(`${subject.business}:${subject.oid}`)?.counts ?? { likes: 0, dislikes: 0, version: 0 }
    if (JSON.stringify(counts) !== JSON.stringify(stored))
      checker.fail(`quiet: ${nameOf(subject)} is shown with ${JSON.stringify(counts)}, not ${JSON.stringify(stored)}`, undefined)
    const liked = rowsOf(records).filter(
      ({ key, record }) => key.business === subject.business && key.oid === subject.oid && record.mark === 'LIKE',
    )
    const wanted = liked.map(({ key, record }) => ({ id: key.viewer, markedAt: record.markedAt })).toSorted(compareMarkPlaces)
    const [shown, real] = [likers, wanted].map((some) => some.map(({ id, markedAt }) => `${id}@${markedAt}`).join(' '))
    if (shown !== real) checker.fail(`quiet: the likers of ${nameOf(subject)} are shown as ${shown}, not ${real}`, undefined)
  }
}

function fillRecords(state: MarkRecordsState, rows: readonly MarkRow[], owners: readonly string[], isArchived: boolean): void {
  const { faults } = state
  state.faults = {}
  const records = openModelMarkRecords(state)
  const subjects = ['1', '2', '3'].flatMap((oid) => [1, 2].map((business) => ({ business, oid })))
  const registered =
    owners.length === 0 ? [] : subjects.map((subject, index) => ({ ...subject, owner: owners[index % owners.length] ?? '' }))
  // The model does what it is asked before it returns.
  void records.applyMarks(rows, [])
  void records.registerSubjects(registered)
  if (isArchived) void records.archiveMarks(START - 15_000, 1_000)
  state.faults = faults
}

function rowsOf(records: MarkRecordsState): MarkRow[] {
  const keys = [records.archived, records.recent].flatMap((tier) =>
    [...tier.values()].flatMap((rows) => Array.from(rows.values(), ({ key }) => key)),
  )
  const distinct = new Map(keys.map((key) => [`${key.viewer} ${nameOf(key)}`, key]))
  return Array.from(distinct.values(), (key) => ({ key, record: rowOf(records, key) as MarkRecord }))
}
