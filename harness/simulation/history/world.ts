/**
 * A world has several processes over shared stores, a few viewers, and faults. Everything follows from its seed: the number of processes,
 * the caps, the frequency of events. It is lively for a number of steps. Then faults end, processes are restarted, time passes the sweep
 * bound, and the final state is checked.
 *
 * Sizes are deliberately small (two regions, timelines of up to four entries, half a dozen subjects), so that most events are edge cases.
 */
import { makeBusinesses } from '../../../config/businesses.ts'
import { randomBelow, seededRandom, type Random } from '../../../core/random.ts'
import type { JournalEntry } from '../../../writeback/journal.ts'
import { makeDice } from '../dice.ts'
import type { History } from '../history-of-events.ts'
import type { Life } from '../life.ts'
import { makeScheduler, runSteps } from '../scheduler.ts'
import { befall, makeStep, passToNextDue, runUntilRead, type Misfortunes, type SteppedWorld, type WorldReport } from '../steps.ts'
import { makeChecker } from './checker.ts'
import { makeClients } from './clients.ts'
import { drawWorld, PATIENCE_MS, PUT_MAX_MS, REGIONS, START, type DrawnWorld } from './draws.ts'
import { makeHotState } from './model-hot-state.ts'
import { makeMachine, type JournalFaults, type Machine } from '../model-journals.ts'
import { makeLogState, type LogFaults } from '../model-log.ts'
import { makeRecordState } from './model-record-store.ts'
import type { HotFaults } from './model-timelines.ts'
import { makePlaces, type Place } from '../places.ts'
import { startProcess, type Process } from './process.ts'

export type PlantedFaults = HotFaults & LogFaults & JournalFaults

const businesses = makeBusinesses([
  { number: 1, name: 'video', entity: 'Video', conflict: 'newest', glanceMax: 5_000, finishedPercent: 95 },
  { number: 2, name: 'comic', entity: 'Comic', conflict: 'furthest', glanceMax: 5_000, finishedPercent: 95 },
])

export type WorldOptions = {
  /** Steps during which it is lively. */
  livelySteps: number
  faults: PlantedFaults
}

type WorldPlace = Place<Process> & { machine: Machine }
type World = ReturnType<typeof openWorld>

export async function runWorld(seed: number, { livelySteps, faults }: WorldOptions, history?: History): Promise<WorldReport> {
  const random = seededRandom(seed)
  const drawn = drawWorld(makeDice(random))
  const world = openWorld(random, drawn, faults, history)
  const { scheduler, checker, clients, placed } = world
  const stepped = { seed, random, scheduler, checker, livelySteps }
  const misfortunes = misfortunesOf(random, drawn, world, history)

  function stepLively(): void {
    const what = random()
    if (what < drawn.faultChance) befall(random, world.places, misfortunes)
    else if (what < drawn.faultChance + drawn.actChance && clients.act(placed.serving())) return
    else if (!scheduler.advanceOne()) idle()
  }

  function idle(): void {
    if (!clients.act(placed.serving())) passToNextDue(scheduler)
  }

  const step = makeStep(stepped, { drain: placed.drain, stepLively, ...makeQuiet(drawn, world, history) })
  placed.startAll()
  await runSteps(step)
  if (checker.failure() === undefined) await checkAfterQuiet(stepped, world)
  return { steps: scheduler.steps(), failure: checker.failure() }
}

function openWorld(random: Random, drawn: DrawnWorld, faults: PlantedFaults, history: History | undefined) {
  const { processOptions, skewMaxMs, stallChance, stallMaxMs } = drawn
  const { retentionMs } = processOptions
  const scheduler = makeScheduler(random, { start: START, stallChance, stallMaxMs }, history)
  const checker = makeChecker({
    now: scheduler.now,
    retentionMs: retentionMs === undefined ? undefined : retentionMs - 1_000,
    timelineCap: processOptions.timelineCap,
    aheadMaxMs: skewMaxMs + 100,
  })
  const records = makeRecordState()
  const hot = makeHotState({ regions: REGIONS.length, clearing: drawn.clearing, faults }, checker.hotObserver)
  const log = makeLogState({ ...drawn.logOptions, faults }, checker.logObserver(hot, records))
  const stores = { hot, log, records }
  const clients = makeClients(random, scheduler, checker, drawn.clientOptions, history)
  const journalObserver = checker.journalObserver(hot, records)
  const newMachine = (): Machine => makeMachine(faults, journalObserver)
  const shared = drawn.sharesDisk ? newMachine() : undefined
  const places = drawn.roles.map((role): WorldPlace => ({
    role,
    machine: shared ?? newMachine(),
    process: undefined,
    starts: 0,
    stopping: '',
  }))
  const { between } = makeDice(random)
  const placed = makePlaces<Process, WorldPlace>(places, {
    ...{ random, scheduler, log, clients, checker, history },
    patienceMs: PATIENCE_MS,
    outageMaxMs: 6_000,
    launch(place, name) {
      const life: Life = { name, dead: false, skewMs: skewMaxMs === 0 ? 0 : between(-skewMaxMs, skewMaxMs) }
      history?.note(scheduler.now(), `--- ${name} starts`)
      return startProcess(scheduler, stores, place.machine, businesses, life, place.role, processOptions, (error) =>
        history?.note(scheduler.now(), `${name}: ${String(error)}`),
      )
    },
  })
  const journaled = (): JournalEntry[] => [...new Set(places.map(({ machine }) => machine))].flatMap((machine) => machine.left())
  return { scheduler, checker, clients, stores, places, placed, journaled }
}

function misfortunesOf(random: Random, drawn: DrawnWorld, world: World, history: History | undefined): Misfortunes<WorldPlace> {
  const { scheduler, clients, placed, journaled } = world
  const { hot, log } = world.stores
  const { retentionMs } = drawn.processOptions
  const { between, pick } = makeDice(random)

  function lose(): void {
    history?.note(scheduler.now(), '--- the log loses uncommitted messages')
    log.lose()
  }

  function appendUnreadable(): void {
    history?.note(scheduler.now(), '--- an unreadable message')
    log.appendUnreadable(randomBelow(random, REGIONS.length))
  }

  /** Only while no call is in flight and nothing waits to be persisted, so that only records at rest expire. */
  function passLong(): void {
    if (retentionMs === undefined || scheduler.underWay() > 0 || hot.countDirty() > 0 || journaled().length > 0) return
    history?.note(scheduler.now(), '--- a long time passes')
    clients.forget()
    scheduler.pass(between(retentionMs / 2, retentionMs * 1.5))
  }

  return [
    [0.3, placed.startOrKill],
    [0.4, placed.askToStop],
    [0.55, placed.restartOne],
    [0.7, () => placed.breakOrMend(pick(['hot', 'hot', 'log', 'records', 'records']))],
    [0.85, placed.rebalance],
    ...(drawn.canLose ? ([[0.9, lose]] as const) : []),
    [0.93, appendUnreadable],
    [1, passLong],
  ]
}

function makeQuiet(drawn: DrawnWorld, { scheduler, placed, journaled }: World, history: History | undefined) {
  let until = 0
  let journalUntil = 0
  const { sweepAfterMs, sweepEveryMs, guard, journaling } = drawn.processOptions
  const persistMs = drawn.stallMaxMs + sweepAfterMs + 3 * sweepEveryMs + 500
  return {
    beginQuiet(): void {
      history?.note(scheduler.now(), '--- quiet begins')
      scheduler.calm()
      placed.mendAll(['hot', 'log', 'records'])
      placed.startMissing()
      const backMs = 2 * (guard.checkEveryMs ?? 0) + (journaling.lookEveryMs ?? 0) + 2 * (journaling.retryMaxMs ?? 0)
      until = scheduler.now() + 2 * drawn.skewMaxMs + 500 + backMs + persistMs
      journalUntil = until + PUT_MAX_MS
    },
    stepQuiet(): boolean {
      placed.startMissing()
      // Merges wait for puts that may be in flight. Then the merged records are persisted.
      if (journaled().length > 0) until = Math.max(until, Math.min(scheduler.now(), journalUntil) + persistMs)
      if (scheduler.advanceOne()) return true
      const due = scheduler.nextDue()
      if (due !== undefined && due <= until) {
        scheduler.pass(Math.max(0, due - scheduler.now()))
        return true
      }
      return false
    },
  }
}

async function checkAfterQuiet(stepped: SteppedWorld, { checker, clients, stores, placed, journaled }: World): Promise<void> {
  if (clients.isBusy()) checker.fail('line 6: a call was never answered', undefined)
  checker.checkQuiet(stores.hot, stores.records, stores.log, journaled(), REGIONS, placed.deaths() > 0)
  if (checker.failure() !== undefined) return
  await runUntilRead(stepped, () => clients.readAll(placed.serving()[0] as Process))
}
