/**
 * A world of marks. It is like the world of history (`../history/world.ts`), with likes and undos, subjects of owners, a count cache that
 * may lose everything, outgoing events, and an archive.
 */
import type { MarkKey, MarkRecord, Subject } from '../../../core/domain.ts'
import { randomBelow, seededRandom, type Random } from '../../../core/random.ts'
import { compareMarkPlaces } from '../../../subgraphs/thumbup/model/places.ts'
import type { MarkRow } from '../../../subgraphs/thumbup/stores/record-store.ts'
import type { JournalEntry } from '../../../writeback/journal.ts'
import { makeMarkStoreState } from '../../models/thumbup/hot-store-model.ts'
import { openModelMarkRecords } from '../../models/thumbup/record-store-model.ts'
import { makeMarkRecordsState, type MarkRecordsFaults, type MarkRecordsState } from '../../models/thumbup/record-rows.ts'
import type { MarkStoreFaults } from '../../models/thumbup/shelves.ts'
import { makeDice } from '../dice.ts'
import { START } from '../history/draws.ts'
import { makeMachine, type JournalFaults, type Machine } from '../model-journals.ts'
import { makeLogState, type LogFaults } from '../model-log.ts'
import { makePlaces, type Place } from '../places.ts'
import type { History } from '../history-of-events.ts'
import type { Life } from '../life.ts'
import { makeScheduler, runSteps, type Scheduler } from '../scheduler.ts'
import { befall, makeStep, passToNextDue, runUntilRead, type Misfortunes, type SteppedWorld, type WorldReport } from '../steps.ts'
import { makeMarkChecker, type MarkChecker } from './checker.ts'
import { makeMarkClients } from './clients.ts'
import { drawMarkWorld, PATIENCE_MS, REGIONS, TOMBSTONE_MS, type DrawnMarkWorld, type StoredMarks } from './draws.ts'
import { makeCountCacheState, type CountCacheFaults } from './model-count-cache.ts'
import { makeMarkEventsState } from './model-events.ts'
import type { MarkTransactionFaults } from './model-records.ts'
import { startMarkProcess, type MarkProcess, type MarkWorldStores } from './process.ts'
import { checkMarksQuiet } from './quiet-rules.ts'
import { makeRecordRules, rowOf } from './record-rules.ts'
import { nameOf, type Stood } from './truth.ts'

export type MarkFaults = MarkStoreFaults & MarkRecordsFaults & MarkTransactionFaults & CountCacheFaults & LogFaults & JournalFaults

/** Turns of the event loop, of 64 steps each, for readers that wait only for their turn. Some dozens are enough for all devices. */
const STEPS_OF_TURNS = 64 * 64

type MarkPlace = Place<MarkProcess> & { machine: Machine }
type MarkWorld = ReturnType<typeof openWorld>

export async function runMarkWorld(
  seed: number,
  { livelySteps, faults }: { livelySteps: number; faults: MarkFaults },
  history?: History,
): Promise<WorldReport> {
  const random = seededRandom(seed)
  const drawn = drawMarkWorld(makeDice(random))
  const world = openWorld(random, drawn, faults, history)
  const { scheduler, checker, clients, placed } = world
  const stepped = { seed, random, scheduler, checker, livelySteps }
  const rest = makeRest(random, world, history)
  const misfortunes = misfortunesOf(random, drawn, world, rest.begin, history)

  function stepLively(): void {
    if (rest.isBegun() && rest.passLong()) return
    const what = random()
    if (what < drawn.faultChance) befall(random, world.places, misfortunes)
    else if (what < drawn.faultChance + drawn.actChance && act()) return
    else if (!scheduler.advanceOne() && !act()) passToNextDue(scheduler)
  }

  function act(): boolean {
    return !rest.isBegun() && clients.act(placed.serving())
  }

  const step = makeStep(stepped, { drain: placed.drain, stepLively, ...makeQuiet(drawn, world, history) })
  placed.startAll()
  await runSteps(step)
  if (checker.failure() === undefined) await checkAfterQuiet(stepped, world)
  return { steps: scheduler.steps(), failure: checker.failure() }
}

function openWorld(random: Random, drawn: DrawnMarkWorld, faults: MarkFaults, history: History | undefined) {
  const { pipelineOptions, stallChance, stallMaxMs, isSkewed } = drawn
  const { businesses } = pipelineOptions
  const scheduler = makeScheduler(random, { start: START, stallChance, stallMaxMs }, history)
  const checker = makeMarkChecker()
  const hot = makeMarkStoreState(REGIONS, faults, checker.hotObserver)
  checker.watch(hot)
  const records = makeMarkRecordsState(faults)
  const { mayBeForgotten, wasForgettable } = forgettingOf(checker, scheduler)
  const rules = makeRecordRules({ records, fail: checker.fail, heldOf: (key) => hot.heldOf(key)?.record, wasForgettable })
  const log = makeLogState({ ...drawn.logOptions, faults }, rules.logObserver)
  const stores: MarkWorldStores = {
    hot,
    cache: makeCountCacheState(faults),
    log,
    records,
    events: makeMarkEventsState(),
    faults,
    changed: (name, args) => rules.changed(name, args, log),
  }
  fillRecords(records, drawn.stored)
  for (const { key, record } of rowsOf(records)) checker.begin(key, record)
  const clients = makeMarkClients(random, scheduler, checker, drawn.clientOptions, history)
  const newMachine = (): Machine => makeMachine(faults, checker.journalObserver)
  const shared = drawn.sharesDisk ? newMachine() : undefined
  const places = drawn.roles.map((role): MarkPlace => ({
    role,
    machine: shared ?? newMachine(),
    process: undefined,
    starts: 0,
    stopping: '',
  }))
  const { between } = makeDice(random)
  const placed = makePlaces<MarkProcess, MarkPlace>(places, {
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
  const journaled = (): JournalEntry[] => [...new Set(places.map(({ machine }) => machine))].flatMap((machine) => machine.left())
  return { scheduler, checker, clients, stores, places, placed, journaled, mayBeForgotten }
}

/** Marks that were undone so long ago that their rows may be gone. */
function forgettingOf({ truths }: MarkChecker, { now }: Scheduler) {
  const isForgettable = (stood: Stood | undefined): boolean =>
    stood === undefined || (stood.mark === 'NONE' && stood.markedAt < now() - TOMBSTONE_MS + 1_000)
  return {
    mayBeForgotten: (key: MarkKey): boolean => isForgettable(truths.of(key).now),
    /** Now or before, because a later mark may wait to be persisted. */
    wasForgettable: (key: MarkKey): boolean => truths.of(key).changes.some(({ tick, stood }) => tick > 0 && isForgettable(stood)),
  }
}

/** Devices begin nothing until no call is in flight. Then a long time passes. */
function makeRest(random: Random, { scheduler, clients, stores: { hot }, journaled }: MarkWorld, history: History | undefined) {
  const { between, chance } = makeDice(random)
  let isBegun = false
  return {
    begin: () => void (isBegun = true),
    isBegun: () => isBegun,
    /**
     * Only while no device is busy, nothing waits to be persisted, and no call of a dead process is in flight. Then only marks at rest
     * expire, and no call is that old.
     */
    passLong(): boolean {
      if (clients.isBusy() || scheduler.underWay() > 0 || scheduler.stalled() > 0 || hot.countDirtyMarks() > 0 || journaled().length > 0)
        return false
      history?.note(scheduler.now(), '--- a long time passes, and viewers are forgotten')
      isBegun = false
      clients.forget()
      scheduler.pass(between(TOMBSTONE_MS / 4, TOMBSTONE_MS * 1.5))
      hot.forgetIdle(() => chance(0.5))
      return true
    },
  }
}

function misfortunesOf(
  random: Random,
  { canLose, mends }: DrawnMarkWorld,
  { scheduler, placed, stores: { log, cache } }: MarkWorld,
  beginRest: () => void,
  history: History | undefined,
): Misfortunes<MarkPlace> {
  const { pick } = makeDice(random)

  function loseMessages(): void {
    history?.note(scheduler.now(), '--- the log loses uncommitted messages')
    log.lose()
  }

  function appendUnreadable(): void {
    history?.note(scheduler.now(), '--- an unreadable message')
    log.appendUnreadable(randomBelow(random, REGIONS))
  }

  function loseCache(): void {
    history?.note(scheduler.now(), '--- the count cache loses everything')
    cache.lose()
  }

  return [
    [0.25, placed.startOrKill],
    [0.33, placed.askToStop],
    [0.5, placed.restartOne],
    [0.7, () => placed.breakOrMend(pick(['hot', 'cache', 'log', 'records', 'records', 'events']))],
    [0.8, placed.rebalance],
    ...(canLose ? ([[0.84, loseMessages]] as const) : []),
    [0.86, appendUnreadable],
    ...(mends ? ([[0.93, loseCache]] as const) : []),
    [1, beginRest],
  ]
}

function makeQuiet(drawn: DrawnMarkWorld, { scheduler, clients, stores: { log }, placed }: MarkWorld, history: History | undefined) {
  const { thumbup, guard, journaling } = drawn.pipelineOptions
  let until = 0
  let isExtended = false
  let stepsWaited = 0

  /** Readers of one list take turns by `setImmediate`, which is not a step. The last reader may wait only for its turn. */
  function mayWaitForTurn(): boolean {
    return clients.isBusy() && stepsWaited++ < STEPS_OF_TURNS
  }

  return {
    beginQuiet(): void {
      history?.note(scheduler.now(), '--- quiet begins')
      scheduler.calm()
      placed.mendAll(['hot', 'cache', 'log', 'records', 'events'])
      placed.startMissing()
      const { sweepAfterMs, sweepEveryMs, publishEveryMs, windowMs, reconcileEveryMs } = thumbup
      const backMs = 2 * (guard.checkEveryMs ?? 0) + (journaling?.lookEveryMs ?? 0) + 2 * (journaling?.retryMaxMs ?? 0)
      // A walk of the reconciler repairs a cache that has lost everything: two pages per business.
      const walkMs = drawn.mends ? 6 * reconcileEveryMs : 0
      const jobMs = sweepAfterMs + Math.max(3 * sweepEveryMs, 3 * publishEveryMs) + 2 * windowMs
      until = scheduler.now() + 500 + drawn.stallMaxMs + backMs + Math.max(jobMs, walkMs) + 300
    },
    stepQuiet(): boolean {
      placed.startMissing()
      if (scheduler.advanceOne()) return true
      const due = scheduler.nextDue()
      if (due === undefined) return mayWaitForTurn()
      if (due > until) {
        if (mayWaitForTurn()) return true
        if (isExtended || log.lag() === 0) return false
        // A partition persists one batch per window.
        isExtended = true
        until += log.lag() * (thumbup.windowMs + 50)
      }
      scheduler.pass(Math.max(0, due - scheduler.now()))
      return true
    },
  }
}

async function checkAfterQuiet(stepped: SteppedWorld, world: MarkWorld): Promise<void> {
  const { checker, clients, stores, placed, journaled, mayBeForgotten } = world
  if (clients.isBusy()) checker.fail('errors: a call was never answered', undefined)
  checkMarksQuiet(checker, { ...stores, left: journaled(), lag: stores.log.lag(), mayBeForgotten })
  if (checker.failure() !== undefined) return
  await runUntilRead(stepped, () =>
    clients.readAll(placed.serving()[0] as MarkProcess, (subject, counts, likers) => checkCounted(world, subject, counts, likers)),
  )
}

/** The public counts and likers of a subject equal its rows. */
function checkCounted(
  { checker, stores: { records } }: MarkWorld,
  subject: Subject,
  counts: unknown,
  likers: readonly { id: string; markedAt: number }[],
): void {
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

function fillRecords(state: MarkRecordsState, { rows, owners, isArchived }: StoredMarks): void {
  const { faults } = state
  state.faults = {}
  const records = openModelMarkRecords(state)
  const subjects = ['1', '2', '3'].flatMap((oid) => [1, 2].map((business) => ({ business, oid })))
  const registered =
    owners.length === 0 ? [] : subjects.map((subject, index) => ({ ...subject, owner: owners[index % owners.length] ?? '' }))
  // The model completes each call before it returns.
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
