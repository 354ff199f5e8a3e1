/**
 * A world of what was seen: as the world of history (`../world.ts`), but hours, months and half years pass in it. Viewers are
 * served and watch, hours turn, workers fold and die at any step, the shape of the ring is changed while all of it runs, and
 * filters expire.
 */
import { HOUR_MS, beginningOf, monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import { randomBelow, seededRandom } from '../../../core/random.ts'
import type { RingShape } from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import { makeSeenRecordsState } from '../../models/feed-existence/record-store-model.ts'
import type { StoreName } from '../gate.ts'
import type { History } from '../history-of-events.ts'
import { makeLogState, type LogFaults } from '../history/model-log.ts'
import { makePlaces, type Place } from '../history/places.ts'
import type { Life } from '../life.ts'
import { makeScheduler, runSteps } from '../scheduler.ts'
import { drawRoles } from '../history/draws.ts'
import type { WorldReport } from '../steps.ts'
import { makeSeenChecker } from './checker.ts'
import { makeSeenClients } from './clients.ts'
import { drawConfig, drawGuard, drawShape, drawStart, PATIENCE_MS, REGIONS } from './draws.ts'
import { makeSeenHotState, type SeenHotFaults } from './model-hot.ts'
import { openSimulatedPlayLog, type PlayMessage } from './model-plays.ts'
import { damageFilter, type SeenRecordsFaults } from './model-records.ts'
import { checkMoved } from './moved-rules.ts'
import { makeSeenOperator, type OperatorFaults } from './operator.ts'
import { startSeenProcess, type SeenProcess, type SeenWorldStores } from './process.ts'
import { checkSeenQuiet } from './quiet-rules.ts'

export type SeenFaults = SeenHotFaults & SeenRecordsFaults & LogFaults & OperatorFaults

const STEPS_MAX = 200_000
const MINUTE_MS = 60_000
const DAY_HOURS = 24
/** What the code under test plans by `setImmediate` has its turn after so many steps. */
const STEPS_PER_TURN = 6
const TURNS_OF_READ = 3
const TURNS_OF_MOVE = 8
/** Of two processes that move the same viewer the second one goes on when he is not listed any more; for so many steps at most. */
const STEPS_OF_MOVE = 500
/** How long it takes at most until everybody has the shape of the ring that somebody has. */
const ROLLOUT_MAX_MS = 10 * HOUR_MS

/** The last ones only where there is such a store. */
const BROKEN = ['hot', 'log', 'records', 'records', 'legacy', 'legacy'] as const

export async function runSeenWorld(
  seed: number,
  options: { livelySteps: number; faults: SeenFaults },
  history?: History,
): Promise<WorldReport> {
  const { faults } = options
  const random = seededRandom(seed)
  const between = (from: number, to: number): number => from + randomBelow(random, to - from + 1)
  const chance = (of: number): boolean => random() < of

  const config = drawConfig(between, chance)
  const { existence } = config
  const guard = drawGuard(between)
  const isCalm = chance(0.2)
  const stallMaxMs = between(100, 400)
  const startedAt = drawStart(between, chance)
  const scheduler = makeScheduler(random, { start: startedAt, stallChance: isCalm || chance(0.5) ? 0 : 0.04, stallMaxMs }, history)
  const faultChance = isCalm ? 0 : 0.025
  const actChance = between(10, 50) / 100
  const leapChance = between(5, 30) / 1_000
  const skewMaxMs = chance(0.5) ? 0 : 10_000
  let shape: RingShape = drawShape(between)
  /** When the shape was changed last, and the most slots any had; undefined while it has not been. */
  let changedAt: number | undefined
  let slotsMax = shape.slots

  const { monthsBefore, issuedCap, issuedMinAgeMs, issuedHardCap, issuedTtlMs, utcOffsetMinutes, futureMaxMs } = existence
  const rules = { monthsBefore, issuedCap, issuedMinAgeMs, issuedHardCap, issuedTtlMs, utcOffsetMinutes, futureMaxMs, skewMaxMs }
  const checker = makeSeenChecker(rules, scheduler.now)
  const hot = makeSeenHotState(REGIONS, faults, checker.hotObserver, scheduler.now, (play) => operator?.legacy.state.put(play))
  const records = makeSeenRecordsState()
  const log = makeLogState(
    { regions: REGIONS, partitions: between(1, 2), batchMax: between(1, 4), retryMs: between(20, 300), sideBySide: true, faults },
    {
      appended(message) {
        const { play } = message as PlayMessage
        clients.logged.push({ ...play, loggedAt: scheduler.now() })
        checker.logged(play)
      },
      committed: () => undefined,
    },
  )
  const hasHistory = chance(0.5)
  const landings = hasHistory ? checker.landings : undefined
  const isRewarding = chance(0.5)
  const viewers = ['7', '10', 'ann', 'bob'].slice(0, between(1, 4))
  const operator = makeSeenOperator(seed, {
    ...{ scheduler, checker, history, hot, records, faults, viewers, monthsBefore, skewMaxMs },
    shape: () => shape,
    processes: () => places.flatMap(({ process }) => process ?? []),
    serving: () => serving(),
    damage: () => void (hasHistory && damage()),
  })
  const legacy = operator?.legacy
  checker.watch({ hot, records, legacy: legacy?.state })
  const { recordsObserver } = checker
  const stores: SeenWorldStores = { hot, log, records, recordsObserver, landings, isRewarding, faults, legacy }
  const players: Life = { name: 'the players', dead: false, skewMs: 0 }
  const clients = makeSeenClients(
    random,
    scheduler,
    checker,
    openSimulatedPlayLog(log, scheduler.gateOf(players), scheduler.clockOf(players)),
    {
      viewers,
      devices: between(1, 3),
      oids: between(3, 11),
      ...{ monthsBefore, futureMaxMs, skewMaxMs },
    },
    history,
  )
  const places = drawRoles(between, chance).map((role): Place<SeenProcess> => ({ role, process: undefined, starts: 0, stopping: '' }))
  let quietUntil: number | undefined
  let movingUntil = 0
  let turnsWaited = 0
  /** Nobody begins anything until time has passed. */
  let isResting = false

  const { start, startMissing, restartOne, end, drain, breakOrMend, rebalance, serving } = makePlaces<SeenProcess, Place<SeenProcess>>(
    places,
    {
      ...{ random, scheduler, log, checker, history },
      clients: { lose: clients.lose, isBusyAt: (process) => clients.isBusyAt(process) || operator?.isBusyAt(process) === true },
      patienceMs: PATIENCE_MS,
      outageMaxMs: 2 * HOUR_MS,
      launch(place, name) {
        const life: Life = { name, dead: false, skewMs: skewMaxMs === 0 ? 0 : between(-skewMaxMs, skewMaxMs) }
        history?.note(scheduler.now(), `--- ${name} starts, ${shape.slots} slots of ${shape.shards} shards`)
        return startSeenProcess(scheduler, random, stores, life, place.role, config, shape, operator?.setting() ?? 'none', guard, (error) =>
          history?.note(scheduler.now(), `${name}: ${String(error)}`),
        )
      },
    },
  )

  function misfortune(): void {
    const place = places[randomBelow(random, places.length)] as Place<SeenProcess>
    const which = random()
    if (which < 0.25) {
      if (place.process === undefined) start(place, places.indexOf(place))
      else end(place, 'dies')
    } else if (which < 0.33) {
      if (place.process !== undefined) place.stopping ||= 'asked'
    } else if (which < 0.55) restartOne()
    else if (which < 0.8) breakOrMend(BROKEN[randomBelow(random, operator === undefined ? 4 : 6)] as StoreName)
    else if (which < 0.92) rebalance()
    else if (which < 0.945) {
      history?.note(scheduler.now(), '--- a message nobody can read')
      log.appendUnreadable(randomBelow(random, REGIONS))
    } else if (which < 0.96 || !hasHistory) changeShape()
    else damage()
    if (legacy !== undefined && scheduler.isDown('legacy')) legacy.state.wasDown = true
  }

  /** Where history is kept: without it nobody could make it anew. */
  function damage(): void {
    const key = damageFilter(records, (count) => randomBelow(random, count))
    if (key === undefined) return
    checker.damaged.add(`${key.month}:${key.viewer}`)
    history?.note(scheduler.now(), `--- the filter of viewer ${key.viewer} and month ${key.month} is damaged`)
  }

  /** Whoever starts from now on has it; those that run are restarted one by one, within some hours. */
  function changeShape(): void {
    if (changedAt !== undefined && scheduler.now() < changedAt + ROLLOUT_MAX_MS) return
    shape = drawShape(between)
    slotsMax = Math.max(slotsMax, shape.slots)
    changedAt = scheduler.now()
    history?.note(changedAt, `--- the ring shall have ${shape.slots} slots of ${shape.shards} shards`)
  }

  function isUpToDate({ shape: { slots, shards }, setting }: SeenProcess): boolean {
    return slots === shape.slots && shards === shape.shards && setting === (operator?.setting() ?? 'none')
  }

  function rollOut(isAtOnce: boolean): void {
    if (isAtOnce) operator?.killAll()
    for (const [index, place] of places.entries()) {
      const { process } = place
      if (process === undefined || isUpToDate(process)) continue
      if (!isAtOnce && !chance(0.02)) continue
      if (place.stopping !== 'begun') end(place, 'is restarted with other settings')
      if (place.process === undefined) start(place, index)
    }
  }

  /** To the end of an hour or of a month, or some hours on, or months. Long ones only when nothing is under way. */
  function leap(): void {
    const now = scheduler.now()
    const isIdle = isAtRest()
    // Without faults nothing takes hours: nobody begins anything more until nothing is under way.
    isResting = isCalm && !isIdle
    if (isResting) return
    const edge = between(-12_000, chance(0.5) ? 12_000 : 90_000)
    const which = random()
    let to = now
    if (which < 0.5 || !isIdle) to = (Math.floor(now / HOUR_MS) + 1) * HOUR_MS + edge
    else if (which < 0.7) to = now + between(1, 50 * MINUTE_MS)
    else if (which < 0.88) to = now + between(1, 8) * HOUR_MS + edge
    else if (which < 0.94) to = beginningOf(monthOf(now) + 1) + edge
    else to = beginningOf(monthOf(now) + between(2, 8)) + between(0, 20) * DAY_HOURS * HOUR_MS + edge
    if (to <= now || (!isIdle && !chance(0.2))) return
    // Nobody has the shape of yesterday any more.
    if (changedAt !== undefined && to > changedAt + ROLLOUT_MAX_MS) rollOut(true)
    history?.note(now, `--- it is ${new Date(to).toISOString()}`)
    scheduler.pass(to - now)
    hot.forgetFolds(() => chance(0.7))
  }

  function beginQuiet(): void {
    history?.note(scheduler.now(), '--- quiet begins')
    scheduler.calm()
    for (const store of ['hot', 'log', 'records', 'legacy'] as const) if (scheduler.isDown(store)) scheduler.setDown(store, false)
    rollOut(true)
    startMissing()
    const { settleMs, foldEveryMs } = existence
    const marginMs = settleMs + 2 * skewMaxMs + 3 * foldEveryMs
    // An hour's plays are folded after it, or in the repetition; what failed, when the ring comes round.
    const hours =
      isCalm && operator === undefined ? 2 : changedAt === undefined ? shape.slots + 2 : Math.max(slotsMax, DAY_HOURS) + slotsMax + 2
    quietUntil = scheduler.now() + hours * HOUR_MS + marginMs
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
    if (isResting && isAtRest()) leap()
    else if (what < faultChance) misfortune()
    else if (what < faultChance + leapChance) leap()
    else if (what < faultChance + leapChance + actChance && act()) return true
    else if (!scheduler.advanceOne()) idle()
    if (changedAt !== undefined) rollOut(scheduler.now() > changedAt + ROLLOUT_MAX_MS)
    else if (operator?.isTold() === false) rollOut(false)
    operator?.act()
    return true
  }

  function act(): boolean {
    return !isResting && clients.act(serving())
  }

  function isAtRest(): boolean {
    return scheduler.underWay() === 0 && !clients.isBusy()
  }

  function idle(): void {
    if (act()) return
    const due = scheduler.nextDue()
    if (due !== undefined && due > scheduler.now() && !mayWaitForTurn()) scheduler.pass(due - scheduler.now())
  }

  /** A reader may wait for nothing but his turn; not for long. Whoever moves a viewer has one for each month. */
  function mayWaitForTurn(): boolean {
    if (operator?.isMoving() === true) movingUntil = scheduler.steps() + STEPS_OF_MOVE
    const turns = scheduler.steps() < movingUntil ? TURNS_OF_MOVE : clients.isBusy() ? TURNS_OF_READ : 0
    turnsWaited = turns > 0 ? (turnsWaited + 1) % (turns * STEPS_PER_TURN) : 0
    return turnsWaited > 0
  }

  function stepQuiet(until: number): boolean {
    startMissing()
    operator?.finish()
    if (scheduler.advanceOne()) return true
    if (mayWaitForTurn()) return true
    const due = scheduler.nextDue()
    if (due === undefined || due > until) return false
    scheduler.pass(Math.max(0, due - scheduler.now()))
    hot.forgetFolds(() => chance(0.5))
    return true
  }

  places.forEach(start)
  await runSteps(step, STEPS_PER_TURN)
  if (checker.failure() === undefined) await checkAfterQuiet()
  return { steps: scheduler.steps(), failure: checker.failure() }

  async function checkAfterQuiet(): Promise<void> {
    const { purgeEveryMs, stagedMax } = existence
    checkSeenQuiet(checker, {
      ...{
        now: scheduler.now(),
        hot,
        records,
        legacy: legacy?.state,
        keepsListings: operator?.setting() === 'none',
        lag: log.lag(),
        rewarded: log.rewards.map(({ id }) => id),
        logged: clients.logged,
        monthsBefore,
        futureMaxMs,
        skewMaxMs,
      },
      ...{ purgeEveryMs, isCalm: isCalm && stagedMax > 100 && operator === undefined },
    })
    if (checker.failure() !== undefined) return
    if (operator !== undefined) await checkMoved(checker, operator, { now: scheduler.now(), hot, records, regions: REGIONS, shape, config })
    if (checker.failure() !== undefined) return
    let isRead = false
    void clients.readAll(serving()[0] as SeenProcess).then(
      () => (isRead = true),
      (error: unknown) => checker.fail(`after quiet: ${String(error)}`, undefined),
    )
    await runSteps(() => {
      scheduler.pass(1)
      if (scheduler.steps() > STEPS_MAX) throw new Error(`seed ${seed} does not come to rest in ${STEPS_MAX} steps`)
      if (!scheduler.fireDue()) scheduler.advanceOne()
      return !isRead && checker.failure() === undefined
    }, STEPS_PER_TURN)
  }
}
