/**
 * A world: several processes over shared stores, a few viewers, and whatever goes wrong. Everything about it follows
 * from its seed: how many processes, how small the caps, how often what happens. It is lively for a number of steps;
 * then faults end, processes are started again, time passes the sweep bound, and what is left is checked.
 *
 * Spaces are small on purpose (two regions, timelines of two to four entries, half a dozen subjects): what matters is
 * what happens at the edges, so there is little else.
 */
import { makeBusinesses } from '../../../config/businesses.ts'
import { randomBelow, seededRandom } from '../../../core/random.ts'
import { makeChecker } from './checker.ts'
import { makeClients } from './clients.ts'
import type { JournalEntry } from '../../../writeback/journal.ts'
import type { StoreName } from '../gate.ts'
import type { History } from '../history-of-events.ts'
import { CLEARINGS, makeHotState, type HotFaults } from './model-hot-state.ts'
import { makeMachine, type JournalFaults, type Machine } from './model-journals.ts'
import { makeLogState, type LogFaults } from './model-log.ts'
import { makeRecordState } from './model-record-store.ts'
import { makePlaces, type Place } from './places.ts'
import { startProcess, type Process, type ProcessOptions, type Role } from './process.ts'
import type { Life } from '../life.ts'
import { makeScheduler, runSteps } from '../scheduler.ts'
import type { Violation } from './shown.ts'

export type PlantedFaults = HotFaults & LogFaults & JournalFaults

const DAY_MS = 86_400_000
/** Three seconds before midnight, so that days change. */
export const START = 20_000 * DAY_MS - 3_000
const REGIONS = [0, 1]
const STEPS_MAX = 200_000
/** Milliseconds after which a service gives up a call of the log or the record store. */
const PATIENCE_MS = 1_000
/** Longer than any call is held up. */
const PUT_MAX_MS = 2_500

const businesses = makeBusinesses([
  { number: 1, name: 'video', entity: 'Video', conflict: 'newest', glanceMax: 5_000, finishedPercent: 95 },
  { number: 2, name: 'comic', entity: 'Comic', conflict: 'furthest', glanceMax: 5_000, finishedPercent: 95 },
])

export type WorldOptions = {
  /** Steps during which it is lively. */
  livelySteps: number
  faults: PlantedFaults
}

export type WorldReport = { steps: number; failure: Violation | undefined }

export async function runWorld(seed: number, options: WorldOptions, history?: History): Promise<WorldReport> {
  const random = seededRandom(seed)
  const between = (from: number, to: number): number => from + randomBelow(random, to - from + 1)
  const chance = (of: number): boolean => random() < of

  const processOptions = drawProcessOptions(between, chance)
  const clientOptions = {
    start: START,
    viewers: ['7', '10', 'ann'].slice(0, between(1, 3)),
    devices: between(1, 3),
    subjects: between(3, 6),
    aheadMaxMs: 500,
    lateMaxMs: chance(0.5) ? 500 : 3_000,
    glanceMax: 5_000,
  }
  const stallMaxMs = between(100, 1_500)
  const scheduler = makeScheduler(random, { start: START, stallChance: chance(0.5) ? 0 : 0.04, stallMaxMs }, history)
  const faultChance = chance(0.2) ? 0 : 0.02
  const actChance = between(10, 50) / 100
  const skewMaxMs = chance(0.3) ? (chance(0.5) ? 100 : 1_500) : 0
  const canLose = chance(0.2)
  const { retentionMs } = processOptions

  const checker = makeChecker({
    now: scheduler.now,
    retentionMs: retentionMs === undefined ? undefined : retentionMs - 1_000,
    timelineCap: processOptions.timelineCap,
    aheadMaxMs: skewMaxMs + 100,
  })
  const records = makeRecordState()
  const hot = makeHotState(
    { regions: REGIONS.length, clearing: CLEARINGS[randomBelow(random, CLEARINGS.length)] ?? 'forgets', faults: options.faults },
    checker.hotObserver,
  )
  const logOptions = {
    regions: REGIONS.length,
    partitions: between(1, 2),
    batchMax: between(1, 4),
    retryMs: between(20, 300),
    faults: options.faults,
  }
  const log = makeLogState(logOptions, checker.logObserver(hot, records))
  const stores = { hot, log, records }
  const clients = makeClients(random, scheduler, checker, clientOptions, history)

  const roles = drawRoles(between, chance)
  const journalObserver = checker.journalObserver(hot, records)
  const newMachine = (): Machine => makeMachine(options.faults, journalObserver)
  const shared = chance(0.5) ? newMachine() : undefined
  const places = roles.map((role): Place<Process> & { machine: Machine } => ({
    role,
    machine: shared ?? newMachine(),
    process: undefined,
    starts: 0,
    stopping: '',
  }))
  let deaths = 0
  let quietUntil: number | undefined
  let waitsForPuts = false

  const { start, startMissing, restartOne, end, drain, breakOrMend, rebalance, serving } = makePlaces<Process, (typeof places)[number]>(
    places,
    {
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
    },
  )

  function misfortune(): void {
    const place = places[randomBelow(random, places.length)] as (typeof places)[number]
    const which = random()
    if (which < 0.3) {
      if (place.process === undefined) start(place, places.indexOf(place))
      else {
        deaths++
        end(place, 'dies')
      }
    } else if (which < 0.4) {
      if (place.process !== undefined) place.stopping ||= 'asked'
    } else if (which < 0.55) restartOne()
    else if (which < 0.7) breakOrMend((['hot', 'hot', 'log', 'records', 'records'] as const)[randomBelow(random, 5)] as StoreName)
    else if (which < 0.85) rebalance()
    else if (which < 0.9 && canLose) {
      history?.note(scheduler.now(), '--- the log loses what nobody committed')
      log.lose()
    } else if (which < 0.93) {
      history?.note(scheduler.now(), '--- a message nobody can read')
      log.appendUnreadable(randomBelow(random, REGIONS.length))
    } else passLong()
  }

  /** Only while nothing is under way or waits to be persisted: so that what expires has been at rest. */
  function passLong(): void {
    if (retentionMs === undefined || scheduler.underWay() > 0 || hot.countDirty() > 0 || journaled().length > 0) return
    history?.note(scheduler.now(), '--- a long time passes')
    clients.forget()
    scheduler.pass(between(retentionMs / 2, retentionMs * 1.5))
  }

  function journaled(): JournalEntry[] {
    return [...new Set(places.map(({ machine }) => machine))].flatMap((machine) => machine.left())
  }

  function beginQuiet(): void {
    history?.note(scheduler.now(), '--- quiet begins')
    scheduler.calm()
    for (const store of ['hot', 'log', 'records'] as const) if (scheduler.isDown(store)) scheduler.setDown(store, false)
    startMissing()
    const { sweepAfterMs, sweepEveryMs, guard, journaling } = processOptions
    const backMs = 2 * (guard.checkEveryMs ?? 0) + (journaling.lookEveryMs ?? 0) + 2 * (journaling.retryMaxMs ?? 0)
    quietUntil = scheduler.now() + 2 * skewMaxMs + 500 + stallMaxMs + backMs + sweepAfterMs + 3 * sweepEveryMs + 500
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
    const what = random()
    if (what < faultChance) misfortune()
    else if (what < faultChance + actChance && clients.act(serving())) return true
    else if (!scheduler.advanceOne()) idle()
    return true
  }

  function idle(): void {
    if (clients.act(serving())) return
    const due = scheduler.nextDue()
    if (due !== undefined && due > scheduler.now()) scheduler.pass(due - scheduler.now())
  }

  function stepQuiet(until: number): boolean {
    startMissing()
    if (scheduler.advanceOne()) return true
    const due = scheduler.nextDue()
    if (due !== undefined && due <= until) {
      scheduler.pass(Math.max(0, due - scheduler.now()))
      return true
    }
    if (waitsForPuts || journaled().length === 0) return false
    // Bases wait for puts that may be under way; then what they merge is persisted.
    waitsForPuts = true
    quietUntil = until + PUT_MAX_MS
    return true
  }

  places.forEach(start)
  await runSteps(step)
  if (checker.failure() === undefined) await checkAfterQuiet()
  return { steps: scheduler.steps(), failure: checker.failure() }

  async function checkAfterQuiet(): Promise<void> {
    if (clients.isBusy()) checker.fail('line 6: a call was never answered', undefined)
    checker.checkQuiet(hot, records, log, journaled(), REGIONS, deaths > 0)
    if (checker.failure() !== undefined) return
    let isRead = false
    void clients.readAll(serving()[0] as Process).then(
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
}

type Between = (from: number, to: number) => number
type Chance = (of: number) => boolean

export function drawRoles(between: Between, chance: Chance): Role[] {
  if (chance(0.2)) return Array.from({ length: between(1, 3) }, () => ({ serves: true, persists: true }))
  return [
    ...Array.from({ length: between(1, 3) }, () => ({ serves: true, persists: false })),
    ...Array.from({ length: between(1, 2) }, () => ({ serves: false, persists: true })),
  ]
}

function drawProcessOptions(between: Between, chance: Chance): ProcessOptions {
  const ageMaxMs = between(20, 400)
  return {
    regions: REGIONS.length,
    timelineCap: between(1, 4),
    purgeRowsMax: between(1, 3),
    aggregator: { keysMax: between(1, 6), ageMaxMs, heldMax: chance(0.2) ? 3 : 1_000 },
    flusher: { directMax: between(0, 2), directWaitingMax: between(0, 3) },
    journaling: {
      lookEveryMs: between(200, 600),
      entriesMax: between(1, 4),
      retryMinMs: between(10, 50),
      retryMaxMs: 200,
      putMaxMs: PUT_MAX_MS,
    },
    guard: {
      checkEveryMs: between(20, 200),
      recordPatienceMs: PATIENCE_MS,
      logPatienceMs: PATIENCE_MS,
      recordReadsWaitingMax: 1_000 * between(1, 4),
    },
    sweepAfterMs: ageMaxMs + between(1, 1_000),
    sweepEveryMs: between(200, 600),
    persistKeysMax: between(1, 8),
    retentionMs: chance(0.2) ? 30_000 : undefined,
    purgeEveryMs: 1_500,
  }
}
