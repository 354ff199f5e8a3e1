/**
 * A world of the feed: viewers who publish, follow and read, processes with the real code, and stores and cache nodes that fail. The marks of
 * follows run below it, as in a deployment.
 */
import type { CacheLayout } from '../../../config/cache.ts'
import { FOLLOW_BUSINESS } from '../../../config/feed.ts'
import type { ErrorCode } from '../../../core/errors.ts'
import { makeHeldValue } from '../../../core/live-value.ts'
import { seededRandom, type Random } from '../../../core/random.ts'
import { makeMarkStoreState } from '../../models/thumbup/hot-store-model.ts'
import { makeMarkRecordsState } from '../../models/thumbup/record-rows.ts'
import { makeDice } from '../dice.ts'
import type { History } from '../history-of-events.ts'
import { START } from '../history/draws.ts'
import type { Life } from '../life.ts'
import { makeMachine, type Machine } from '../model-journals.ts'
import { makeLogState } from '../model-log.ts'
import { makePlaces, type Place } from '../places.ts'
import { makeScheduler, runSteps, type Scheduler } from '../scheduler.ts'
import { befall, makeStep, passToNextDue, runUntilRead, type Misfortunes, type SteppedWorld, type WorldReport } from '../steps.ts'
import { makeCountCacheState } from '../thumbup/model-count-cache.ts'
import { makeMarkEventsState } from '../thumbup/model-events.ts'
import { makeFeedChecker, type FeedChecker } from './checker.ts'
import { makeFeedClients } from './clients.ts'
import { changedLayout, drawFeedWorld, LONG_TIMES_MAX_MS, PATIENCE_MS, REGIONS, type DrawnFeedWorld } from './draws.ts'
import type { ProcessFaults } from './faults.ts'
import { makeFeedWorldState, type FeedStoreFaults } from './model-hot.ts'
import { makeLongsetState, type LongsetFaults } from './model-longsets.ts'
import { makeNodes } from './model-nodes.ts'
import { makeRecordStates, type RecordFaults } from './model-records.ts'
import { makeParts } from './parts.ts'
import type { FeedWorldStores } from './ports.ts'
import { startFeedProcess, type FeedProcess } from './process.ts'
import { checkFeedQuiet } from './quiet-rules.ts'

export type FeedFaults = FeedStoreFaults & LongsetFaults & RecordFaults & ProcessFaults

const STORES = ['hot', 'cache', 'log', 'records', 'events'] as const
/** A store that is back is noticed after two checks, and each may be slow. */
const NOTICE_MS = 1_500
/** Turns of the event loop, of 64 steps each, for readers that only yield to it. */
const STEPS_OF_TURNS = 64 * 64

type FeedPlace = Place<FeedProcess> & { machine: Machine }
/** The last leap of the clock: its end and its length. */
type Leap = { at: number; ms: number }
type FeedWorld = ReturnType<typeof openWorld>

export async function runFeedWorld(
  seed: number,
  { livelySteps, faults }: { livelySteps: number; faults: FeedFaults },
  history?: History,
): Promise<WorldReport> {
  const random = seededRandom(seed)
  const drawn = drawFeedWorld(makeDice(random))
  const world = openWorld(random, drawn, faults, history)
  const { scheduler, checker, clients, placed } = world
  const stepped = { seed, random, scheduler, checker, livelySteps }
  const rest = makeRest(drawn, world, history)
  const misfortunes = misfortunesOf(world, rest.begin)

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
  if (checker.failure() === undefined) await checkAfterQuiet(stepped, drawn, world)
  return { steps: scheduler.steps(), failure: checker.failure() }
}

function openWorld(random: Random, drawn: DrawnFeedWorld, faults: FeedFaults, history: History | undefined) {
  const { stallChance, stallMaxMs, isSkewed, logOptions, hasParts } = drawn
  const dice = makeDice(random)
  const scheduler = makeScheduler(random, { start: START, stallChance, stallMaxMs }, history)
  const leap: Leap = { at: 0, ms: 0 }
  const parts = makeParts(random, scheduler, hasParts, history)
  const journal = { left: journaled, removedAt: -Infinity }
  const checker = makeFeedChecker(makeMayLack(drawn, scheduler, leap, journal, parts.wasLostSince))
  const marksHot = makeMarkStoreState(
    REGIONS,
    {},
    followObserver(checker, (key) => marksHot.heldOf(key)?.record.mark === 'LIKE'),
  )
  const layouts = makeHeldValue({ value: drawn.layout ?? changedLayout(dice.between, dice.chance), version: 1 }, (error) => {
    checker.fail(`a change of the layout failed: ${String(error)}`, undefined)
  })
  const nodes = makeNodes(random, scheduler, drawn.nodeOptions, history)
  const stores: FeedWorldStores = {
    hot: makeFeedWorldState(REGIONS, parts.lost, faults, checker.observer),
    longsets: makeLongsetState(scheduler.now, faults),
    records: makeRecordStates(faults),
    log: makeLogState({ ...logOptions, faults: {} }),
    marks: {
      hot: marksHot,
      cache: makeCountCacheState(),
      log: makeLogState({ ...logOptions, faults: {} }),
      records: makeMarkRecordsState(),
      events: makeMarkEventsState(),
    },
    nodes,
    layouts,
    groups: new Map(),
  }
  const clients = makeFeedClients(random, scheduler, checker, drawn.clientOptions, history)
  const newMachine = (): Machine =>
    makeMachine({}, { appended: () => undefined, removed: () => void (journal.removedAt = scheduler.now()) })
  const shared = drawn.sharesDisk ? newMachine() : undefined
  const places = drawn.roles.map((role): FeedPlace => ({
    role,
    machine: shared ?? newMachine(),
    process: undefined,
    starts: 0,
    stopping: '',
  }))
  const placed = makePlaces<FeedProcess, FeedPlace>(places, {
    ...{ random, scheduler, clients, checker, history },
    log: groupsOf(stores),
    patienceMs: PATIENCE_MS,
    outageMaxMs: 6_000,
    launch(place, name) {
      const life: Life = { name, dead: false, skewMs: isSkewed ? dice.between(-100, 100) : 0 }
      history?.note(scheduler.now(), `--- ${name} starts`)
      return startFeedProcess(scheduler, random, stores, life, place.role, {
        ...{ drawn, faults },
        machine: place.machine,
        onError: (error) => history?.note(scheduler.now(), `${name}: ${String(error)}`),
      })
    },
  })
  return { scheduler, checker, clients, stores, places, placed, journaled, changeLayout, dice, leap, parts }

  /** Follows that wait for the hot store. */
  function journaled(): number {
    return [...new Set(places.map(({ machine }) => machine))].reduce((sum, machine) => sum + machine.left().length, 0)
  }

  function changeLayout(): void {
    const value: CacheLayout = changedLayout(dice.between, dice.chance)
    history?.note(scheduler.now(), `--- the layout is ${JSON.stringify(value)}`)
    layouts.replace({ value, version: layouts.current().version + 1 })
  }
}

/** A follow is what the hot store of marks has, at each instant. */
function followObserver(
  { truths }: FeedChecker,
  isLiked: (key: { viewer: string; business: number; oid: string }) => boolean,
): NonNullable<Parameters<typeof makeMarkStoreState>[2]> {
  const note = ({ viewer, oid }: { viewer: string; oid: string }): void =>
    truths.follows(viewer, oid, isLiked({ viewer, business: FOLLOW_BUSINESS, oid }))
  return { put: note, moved: note }
}

/** A store may be missing in an answer if it was down while the call ran, or so shortly before that no check has noticed its end. */
function makeMayLack(
  { stallChance, stallMaxMs, pipelineOptions }: DrawnFeedWorld,
  scheduler: Scheduler,
  leap: Leap,
  journal: { left(): number; removedAt: number },
  wasLostSince: (since: number) => boolean,
) {
  const noticeMs = NOTICE_MS + 2 * (pipelineOptions.guard.checkEveryMs ?? 0) + (stallChance > 0 ? 3 * stallMaxMs : 0)
  return (code: ErrorCode, beganAt: number): boolean => {
    // During a leap no process notices anything.
    const since = beganAt - noticeMs < leap.at ? beganAt - noticeMs - leap.ms : beganAt - noticeMs
    if (scheduler.wasDownSince(code, since) || (code === 'HOT_STORE_UNAVAILABLE' && wasLostSince(since))) return true
    // A process that has journaled follows does not know when they are in the hot store.
    if (code === 'HOT_STORE_UNAVAILABLE' && (journal.left() > 0 || journal.removedAt >= beganAt - noticeMs)) return true
    // Reads of the record store are given up when it is slow, and wait only briefly while the hot store is down.
    return (
      code === 'RECORD_STORE_UNAVAILABLE' &&
      (stallChance > 0 || wasLostSince(since) || scheduler.wasDownSince('HOT_STORE_UNAVAILABLE', since))
    )
  }
}

/** A process is a member of two groups. */
function groupsOf({ log, marks, groups }: FeedWorldStores): Parameters<typeof makePlaces<FeedProcess, FeedPlace>>[1]['log'] {
  return {
    members: log.members,
    assign(start) {
      log.assign(start)
      if (marks.log.members.size > 0) marks.log.assign(start)
    },
    leave(member) {
      for (const each of groups.get(member) ?? []) {
        log.leave(each)
        marks.log.leave(each)
      }
    },
  }
}

/** Devices begin nothing until no call is in flight. Then a long time passes. */
function makeRest(
  {
    config: {
      feed: { keepMs },
    },
  }: DrawnFeedWorld,
  { scheduler, clients, stores, dice, leap }: FeedWorld,
  history: History | undefined,
) {
  let isBegun = false
  let passedMs = 0
  let cleanAt = scheduler.now()

  /** Less than `keepMs` while something waits to be persisted: from then on, purges would forget nothing. */
  function mayPassMs(): number {
    if (stores.hot.state.countDirty() === 0) cleanAt = scheduler.now()
    return Math.min(
      dice.between(keepMs / 10, keepMs * 1.2),
      cleanAt === scheduler.now() ? Infinity : cleanAt + keepMs * 0.7 - scheduler.now(),
    )
  }

  return {
    begin: () => void (isBegun = true),
    isBegun: () => isBegun,
    passLong(): boolean {
      if (clients.isBusy() || scheduler.underWay() > 0 || scheduler.stalled() > 0 || stores.nodes.underWay() > 0) return false
      const ms = Math.floor(mayPassMs())
      isBegun = false
      if (ms <= 0 || passedMs + ms > LONG_TIMES_MAX_MS) return false
      passedMs += ms
      history?.note(scheduler.now(), `--- ${ms} ms pass`)
      scheduler.pass(ms)
      leap.at = scheduler.now()
      leap.ms = ms
      // As in a process that was suspended: what is due comes before new requests.
      while (scheduler.fireDue());
      return true
    },
  }
}

function misfortunesOf({ placed, stores: { nodes }, changeLayout, dice, parts }: FeedWorld, beginRest: () => void): Misfortunes<FeedPlace> {
  return [
    [0.2, placed.startOrKill],
    [0.27, placed.askToStop],
    [0.42, placed.restartOne],
    [0.58, () => placed.breakOrMend(dice.pick(['hot', 'hot', 'cache', 'log', 'records', 'records', 'events']))],
    [0.62, placed.rebalance],
    [0.67, parts.lose],
    [0.75, nodes.breakOrMend],
    [0.8, nodes.empty],
    [0.86, changeLayout],
    [1, beginRest],
  ]
}

function makeQuiet(
  { pipelineOptions, config: { feed }, stallMaxMs }: DrawnFeedWorld,
  { scheduler, clients, stores, placed, journaled, parts }: FeedWorld,
  history: History | undefined,
) {
  const { thumbup, guard, journaling } = pipelineOptions
  let until = 0
  let isExtended = false
  let stepsWaited = 0

  function mayWaitForTurn(): boolean {
    return clients.isBusy() && stepsWaited++ < STEPS_OF_TURNS
  }

  return {
    beginQuiet(): void {
      history?.note(scheduler.now(), '--- quiet begins')
      scheduler.calm()
      placed.mendAll(STORES)
      stores.nodes.mendAll()
      parts.mendAll()
      placed.startMissing()
      const backMs = 2 * (guard.checkEveryMs ?? 0) + (journaling?.lookEveryMs ?? 0) + 2 * (journaling?.retryMaxMs ?? 0)
      const marksMs = thumbup.sweepAfterMs + Math.max(3 * thumbup.sweepEveryMs, 3 * thumbup.publishEveryMs) + 2 * thumbup.windowMs
      const countsMs = 6 * thumbup.reconcileEveryMs > 100_000 ? 0 : 6 * thumbup.reconcileEveryMs
      const postsMs = feed.sweepAfterMs + 4 * feed.sweepEveryMs + 2 * feed.countsWindowMs + feed.flushAgeMaxMs
      until = scheduler.now() + 500 + stallMaxMs + backMs + Math.max(marksMs, countsMs, postsMs) + 500
    },
    stepQuiet(): boolean {
      placed.startMissing()
      if (scheduler.advanceOne()) return true
      const due = scheduler.nextDue()
      if (due === undefined) return mayWaitForTurn()
      if (due > until) {
        if (mayWaitForTurn()) return true
        const lag = stores.log.lag() + stores.marks.log.lag() + journaled()
        if (isExtended || lag === 0) return false
        // A partition persists one batch per window.
        isExtended = true
        until += lag * (Math.max(thumbup.windowMs, feed.countsWindowMs) + 50)
      }
      scheduler.pass(Math.max(0, due - scheduler.now()))
      return true
    },
  }
}

async function checkAfterQuiet(stepped: SteppedWorld, { clientOptions }: DrawnFeedWorld, world: FeedWorld): Promise<void> {
  const { checker, clients, stores, placed, journaled } = world
  if (clients.isBusy()) checker.fail('healthy: a call was never answered', undefined)
  if (journaled() > 0) checker.fail(`quiet: ${journaled()} entries are still in a journal`, undefined)
  checkFeedQuiet(checker, stores, clientOptions.viewers)
  if (checker.failure() !== undefined) return
  await runUntilRead(stepped, () => clients.readAll(placed.serving()[0] as FeedProcess))
}
