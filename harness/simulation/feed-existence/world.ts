/**
 * A world of feed existence. It is like the world of history (`../history/world.ts`), but hours, months and half years pass in it. Viewers
 * are served and play, hours end, workers fold and die at any step, the shape of the ring changes meanwhile, and filters expire.
 */
import { randomBelow, seededRandom, type Random } from '../../../core/random.ts'
import { HOUR_MS } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import { makeSeenRecordsState } from '../../models/feed-existence/record-store-model.ts'
import { makeDice } from '../dice.ts'
import type { StoreName } from '../gate.ts'
import { makeLogState, type LogFaults } from '../model-log.ts'
import { makePlaces, type Place } from '../places.ts'
import type { History } from '../history-of-events.ts'
import type { Life } from '../life.ts'
import { makeScheduler, runSteps } from '../scheduler.ts'
import { befall, makeStep, passToNextDue, runUntilRead, type Misfortunes, type SteppedWorld, type WorldReport } from '../steps.ts'
import { makeSeenChecker } from './checker.ts'
import { makeSeenClients } from './clients.ts'
import { drawSeenWorld, PATIENCE_MS, REGIONS, type DrawnSeenWorld } from './draws.ts'
import { makeLeaps } from './leaps.ts'
import { makeSeenHotState, type SeenHotFaults } from './model-hot.ts'
import { openSimulatedPlayLog, type PlayMessage } from './model-plays.ts'
import { damageFilter, type SeenRecordsFaults } from './model-records.ts'
import { checkMoved } from './moved-rules.ts'
import { makeSeenOperator } from './operator.ts'
import type { OperatorFaults } from './operator-world.ts'
import { startSeenProcess, type SeenProcess, type SeenWorldStores } from './process.ts'
import { checkSeenQuiet } from './quiet-rules.ts'
import { makeRing, makeRollOut } from './rollout.ts'

export type SeenFaults = SeenHotFaults & SeenRecordsFaults & LogFaults & OperatorFaults

const DAY_HOURS = 24
/** The number of steps after which `setImmediate` callbacks of the code under test run. */
const STEPS_PER_TURN = 6
const TURNS_OF_READ = 3
const TURNS_OF_MOVE = 8
/** If two processes migrate the same viewer, the second one continues when the viewer is no longer listed, for at most this many steps. */
const STEPS_OF_MOVE = 500

/** The last two only in a world with a legacy store. */
const BROKEN = ['hot', 'log', 'records', 'records', 'legacy', 'legacy'] as const

type SeenPlace = Place<SeenProcess>
type SeenWorld = ReturnType<typeof openWorld>

export async function runSeenWorld(
  seed: number,
  { livelySteps, faults }: { livelySteps: number; faults: SeenFaults },
  history?: History,
): Promise<WorldReport> {
  const random = seededRandom(seed)
  const drawn = drawSeenWorld(makeDice(random))
  const world = openWorld(seed, random, drawn, faults, history)
  const { scheduler, checker, clients, operator, places, placed, ring, rollOut } = world
  const stepped = { seed, random, scheduler, checker, livelySteps }
  const misfortunes = misfortunesOf(random, drawn, world, history)
  const leaps = makeLeaps(random, drawn.isCalm, { ...world, hot: world.stores.hot }, history)
  const mayWaitForTurn = makeTurns(world)
  const { faultChance, leapChance, actChance } = drawn

  function stepLively(): void {
    const what = random()
    if (leaps.isDue()) leaps.leap()
    else if (what < faultChance) befall(random, places, misfortunes)
    else if (what < faultChance + leapChance) leaps.leap()
    else if (what < faultChance + leapChance + actChance && act()) return
    else if (!scheduler.advanceOne() && !act() && !waitsForTurn()) passToNextDue(scheduler)
    if (ring.wasChanged()) rollOut(ring.isRolledOutBy(scheduler.now()))
    else if (operator?.isTold() === false) rollOut(false)
    operator?.act()
  }

  function act(): boolean {
    return !leaps.isResting() && clients.act(placed.serving())
  }

  /** Turns are counted only where the next timer is planned for later. */
  function waitsForTurn(): boolean {
    const due = scheduler.nextDue()
    return due !== undefined && due > scheduler.now() && mayWaitForTurn()
  }

  const step = makeStep(stepped, { drain: placed.drain, stepLively, ...makeQuiet(random, drawn, world, mayWaitForTurn, history) })
  placed.startAll()
  await runSteps(step, STEPS_PER_TURN)
  if (checker.failure() === undefined) await checkAfterQuiet(stepped, drawn, world)
  return { steps: scheduler.steps(), failure: checker.failure() }
}

function openWorld(seed: number, random: Random, drawn: DrawnSeenWorld, faults: SeenFaults, history: History | undefined) {
  const { config, guard, shape, clientOptions, hasHistory, isRewarding, stallChance, stallMaxMs } = drawn
  const { viewers, monthsBefore, skewMaxMs } = clientOptions
  const scheduler = makeScheduler(random, { start: drawn.startedAt, stallChance, stallMaxMs }, history)
  const ring = makeRing(random, shape, scheduler, history)
  const checker = makeSeenChecker({ ...config.existence, skewMaxMs }, scheduler.now)
  const hot = makeSeenHotState(REGIONS, faults, checker.hotObserver, scheduler.now, (play) => operator?.legacy.state.put(play))
  const records = makeSeenRecordsState()
  const log = makeLogState(
    { ...drawn.logOptions, faults },
    {
      appended(message) {
        const { play } = message as PlayMessage
        clients.logged.push({ ...play, loggedAt: scheduler.now() })
        checker.logged(play)
      },
      committed: () => undefined,
    },
  )

  /** Only in a world with history, from which the filter can be rebuilt. */
  function damage(): void {
    const key = damageFilter(records, (count) => randomBelow(random, count))
    if (key === undefined) return
    checker.damaged.add(`${key.month}:${key.viewer}`)
    history?.note(scheduler.now(), `--- the filter of viewer ${key.viewer} and month ${key.month} is damaged`)
  }

  const operator = makeSeenOperator(seed, {
    ...{ scheduler, checker, history, hot, records, faults, viewers, monthsBefore, skewMaxMs },
    shape: ring.shape,
    processes: () => places.flatMap(({ process }) => process ?? []),
    serving: () => placed.serving(),
    damage: () => void (hasHistory && damage()),
  })
  const legacy = operator?.legacy
  checker.watch({ hot, records, legacy: legacy?.state })
  const { recordsObserver } = checker
  const landings = hasHistory ? checker.landings : undefined
  const stores: SeenWorldStores = { hot, log, records, recordsObserver, landings, isRewarding, faults, legacy }
  const players: Life = { name: 'the players', dead: false, skewMs: 0 }
  const playLog = openSimulatedPlayLog(log, scheduler.gateOf(players), scheduler.clockOf(players))
  const clients = makeSeenClients(random, scheduler, checker, playLog, clientOptions, history)
  const places = drawn.roles.map((role): SeenPlace => ({ role, process: undefined, starts: 0, stopping: '' }))
  const { between } = makeDice(random)
  const placed = makePlaces<SeenProcess, SeenPlace>(places, {
    ...{ random, scheduler, log, checker, history },
    clients: { lose: clients.lose, isBusyAt: (process) => clients.isBusyAt(process) || operator?.isBusyAt(process) === true },
    patienceMs: PATIENCE_MS,
    outageMaxMs: 2 * HOUR_MS,
    launch(place, name) {
      const life: Life = { name, dead: false, skewMs: skewMaxMs === 0 ? 0 : between(-skewMaxMs, skewMaxMs) }
      const { slots, shards } = ring.shape()
      history?.note(scheduler.now(), `--- ${name} starts, ${slots} slots of ${shards} shards`)
      const setting = operator?.setting() ?? 'none'
      return startSeenProcess(scheduler, random, stores, life, place.role, config, ring.shape(), setting, guard, (error) =>
        history?.note(scheduler.now(), `${name}: ${String(error)}`),
      )
    },
  })
  const rollOut = makeRollOut(random, ring, operator, places, placed)
  return { scheduler, checker, clients, operator, stores, places, placed, ring, rollOut, damage }
}

function misfortunesOf(
  random: Random,
  { hasHistory }: DrawnSeenWorld,
  { scheduler, operator, stores: { log }, placed, ring, damage }: SeenWorld,
  history: History | undefined,
): Misfortunes<SeenPlace> {
  const { pick } = makeDice(random)
  const breakable: readonly StoreName[] = operator === undefined ? BROKEN.slice(0, 4) : BROKEN

  function appendUnreadable(): void {
    history?.note(scheduler.now(), '--- an unreadable message')
    log.appendUnreadable(randomBelow(random, REGIONS))
  }

  const misfortunes: Misfortunes<SeenPlace> = [
    [0.25, placed.startOrKill],
    [0.33, placed.askToStop],
    [0.55, placed.restartOne],
    [0.8, () => placed.breakOrMend(pick(breakable))],
    [0.92, placed.rebalance],
    [0.945, appendUnreadable],
    [hasHistory ? 0.96 : 1, ring.change],
    [1, damage],
  ]
  return misfortunes.map(([below, happen]) => [
    below,
    (place) => {
      happen(place)
      if (operator !== undefined && scheduler.isDown('legacy')) operator.legacy.state.wasDown = true
    },
  ])
}

/** A reader may wait briefly for its turn of the event loop. A process that migrates a viewer has one turn per month. */
function makeTurns({ scheduler, clients, operator }: SeenWorld): () => boolean {
  let movingUntil = 0
  let turnsWaited = 0
  return () => {
    if (operator?.isMoving() === true) movingUntil = scheduler.steps() + STEPS_OF_MOVE
    const turns = scheduler.steps() < movingUntil ? TURNS_OF_MOVE : clients.isBusy() ? TURNS_OF_READ : 0
    turnsWaited = turns > 0 ? (turnsWaited + 1) % (turns * STEPS_PER_TURN) : 0
    return turnsWaited > 0
  }
}

function makeQuiet(
  random: Random,
  { config, isCalm, clientOptions }: DrawnSeenWorld,
  { scheduler, operator, stores: { hot }, placed, ring, rollOut }: SeenWorld,
  mayWaitForTurn: () => boolean,
  history: History | undefined,
) {
  const { chance } = makeDice(random)
  let until = 0
  return {
    beginQuiet(): void {
      history?.note(scheduler.now(), '--- quiet begins')
      scheduler.calm()
      placed.mendAll(['hot', 'log', 'records', 'legacy'])
      rollOut(true)
      placed.startMissing()
      const { settleMs, foldEveryMs } = config.existence
      const marginMs = settleMs + 2 * clientOptions.skewMaxMs + 3 * foldEveryMs
      const { slots } = ring.shape()
      // The plays of an hour are folded after that hour or in the repetition. Failed folds are repeated in the next lap of the ring.
      const hours =
        isCalm && operator === undefined ? 2 : ring.wasChanged() ? Math.max(ring.slotsMax(), DAY_HOURS) + ring.slotsMax() + 2 : slots + 2
      until = scheduler.now() + hours * HOUR_MS + marginMs
    },
    stepQuiet(): boolean {
      placed.startMissing()
      operator?.finish()
      if (scheduler.advanceOne()) return true
      if (mayWaitForTurn()) return true
      const due = scheduler.nextDue()
      if (due === undefined || due > until) return false
      scheduler.pass(Math.max(0, due - scheduler.now()))
      hot.forgetFolds(() => chance(0.5))
      return true
    },
  }
}

async function checkAfterQuiet(stepped: SteppedWorld, { config, isCalm, clientOptions }: DrawnSeenWorld, world: SeenWorld): Promise<void> {
  const { scheduler, checker, clients, operator, placed, ring } = world
  const { hot, records, log, legacy } = world.stores
  const { monthsBefore, futureMaxMs, skewMaxMs } = clientOptions
  const { purgeEveryMs, stagedMax } = config.existence
  checkSeenQuiet(checker, {
    ...{ now: scheduler.now(), hot, records, legacy: legacy?.state, logged: clients.logged },
    keepsListings: operator?.setting() === 'none',
    lag: log.lag(),
    rewarded: log.rewards.map(({ id }) => id),
    ...{ monthsBefore, futureMaxMs, skewMaxMs, purgeEveryMs },
    isCalm: isCalm && stagedMax > 100 && operator === undefined,
  })
  if (checker.failure() !== undefined) return
  if (operator !== undefined) {
    await checkMoved(checker, operator, { now: scheduler.now(), hot, records, regions: REGIONS, shape: ring.shape(), config })
    if (checker.failure() !== undefined) return
  }
  await runUntilRead(stepped, () => clients.readAll(placed.serving()[0] as SeenProcess), STEPS_PER_TURN)
}
