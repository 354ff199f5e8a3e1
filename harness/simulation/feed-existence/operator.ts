/**
 * Whoever moves viewers from a legacy store, as README has it: tells processes of it one by one, has all plays come in here, lists
 * the viewers of a file with the command (which dies, is begun again, and maybe runs twice), waits until all are marked, and then
 * goes on or goes back. Meanwhile the old system lives on: it plays, by itself before the listing and to both sides after, and
 * trims its sets.
 *
 * It draws from a generator of its own, so that worlds without a migration are what they were.
 */
import { listViewers } from '../../../cli/migrate/migration-listing.ts'
import type { PlaceKeeper } from '../../../cli/migrate/migration-place.ts'
import { inBatches, type ViewerLine } from '../../../cli/migrate/viewers-file.ts'
import { legacySchema } from '../../../config/legacy.ts'
import type { BusinessNumber, Play, ViewerId } from '../../../core/domain.ts'
import { MARK_MONTH, decodeMark, encodeMark, isListing, listedBusiness } from '../../../subgraphs/feed-existence/migration/progress.ts'
import { randomBelow, seededRandom } from '../../../core/random.ts'
import { beginningOf, monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import type { RingShape } from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import type { SeenRecordsState } from '../../models/feed-existence/record-store-model.ts'
import type { History } from '../history-of-events.ts'
import type { Life } from '../life.ts'
import type { Scheduler } from '../scheduler.ts'
import type { SeenChecker } from './checker.ts'
import { BUSINESS_NAMES } from './clients.ts'
import { openSimulatedSeenStore, type SeenHotState } from './model-hot.ts'
import { makeLegacyState, nameOf, openSimulatedLegacyPlays, type LegacyFaults } from './model-legacy.ts'
import { openSimulatedSeenRecords } from './model-records.ts'
import type { LegacyWorld, SeenProcess, Setting } from './process.ts'
import { BUSINESSES, OIDS } from './universe.ts'

export type OperatorFaults = LegacyFaults & {
  /** A viewer is marked as migrated as soon as his set was read. */
  marksFirst?: boolean
  /** The command goes on behind the viewer who was next when it died. */
  resumesPast?: boolean
}

export type OperatorWorld = {
  scheduler: Scheduler
  checker: SeenChecker
  history: History | undefined
  hot: SeenHotState
  records: SeenRecordsState
  faults: OperatorFaults
  viewers: readonly ViewerId[]
  monthsBefore: number
  skewMaxMs: number
  /** In use now. */
  shape(): RingShape
  processes(): readonly SeenProcess[]
  serving(): readonly SeenProcess[]
  /** A filter becomes unreadable, if that can be mended in this world. */
  damage(): void
}

/** What the operator waits for. */
type Phase = 'beginning' | 'told' | 'listing' | 'moving' | 'moved' | 'ending' | 'ended'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const MIGRATING_OF_ALL = 0.5

export type SeenOperator = ReturnType<typeof makeSeenOperator>

/** Undefined where nobody is moved. */
export function makeSeenOperator(seed: number, world: OperatorWorld) {
  const random = seededRandom(seed ^ 0x5bd1e995)
  if (random() >= MIGRATING_OF_ALL) return undefined
  const between = (from: number, to: number): number => from + randomBelow(random, to - from + 1)
  const chance = (of: number): boolean => random() < of
  const pick = <T>(from: readonly T[]): T => from[randomBelow(random, from.length)] as T
  const { scheduler, checker, history, hot, records, faults, viewers, skewMaxMs } = world

  const businesses: readonly BusinessNumber[] = chance(0.8) ? BUSINESSES : [pick(BUSINESSES)]
  const config = legacySchema.parse({
    urls: ['redis://legacy:6379'],
    patienceMs: between(50, 1_000),
    absentMs: chance(0.3) ? 0 : between(1, 10_000),
    membersPerSecond: chance(0.5) ? between(100, 1_000) : 100_000,
  })
  const legacy: LegacyWorld = {
    state: makeLegacyState(faults, businesses, () => checker.nextTick()),
    config: { ...config, businesses: businesses.map((number) => BUSINESS_NAMES[number - 1] as string) },
    pageMax: between(1, 6),
    onWholeRead: (viewer, business) => void (faults.marksFirst === true && markAtOnce(viewer, business)),
  }
  const { state } = legacy
  const lines = drawFile()
  const named = new Set(lines.flatMap(({ viewer }) => viewer ?? []))
  const batchMax = between(1, 3)
  const [goesOn, keepsPlace] = [chance(0.6), chance(0.8)]
  const diesOften = chance(0.6)
  let phase: Phase = 'beginning'
  let setting: Setting = chance(0.6) ? 'both' : 'none'
  let line = 0
  const runs = new Set<Life>()
  let runsBegun = 0
  /** How much the old system has under way at whom. */
  const asked = new Map<SeenProcess, number>()
  fillSets()

  function drawFile(): ViewerLine[] {
    const ids = viewers.filter(() => chance(0.85)).flatMap((viewer) => (chance(0.1) ? [viewer, viewer] : [viewer]))
    return ids.flatMap((viewer, at) => [
      ...(chance(0.05) ? [{ viewer: undefined, line: 3 * at + 1, mistake: 'not an id' }] : []),
      { viewer, line: 3 * at + 2, mistake: undefined },
    ])
  }

  function fillSets(): void {
    for (const viewer of viewers)
      for (const business of businesses) {
        if (chance(0.05)) {
          state.others.add(nameOf(viewer, business))
          state.wasDown = true
        }
        if (!state.isOf(viewer, business) || chance(0.2)) continue
        for (const oid of OIDS) if (chance(0.4)) promise({ viewer, business, oid, playedAt: drawPlayedAt() })
      }
  }

  function drawPlayedAt(): number {
    const now = scheduler.now()
    const what = random()
    if (what < 0.5) return now - randomBelow(random, 40 * DAY_MS)
    if (what < 0.8) return now - randomBelow(random, 120 * DAY_MS)
    if (what < 0.95) return Math.min(now, beginningOf(monthOf(now) - between(0, world.monthsBefore + 1)) + between(-1, 1))
    return now + 3 * DAY_MS
  }

  /** What lies ahead is left out for good, also where it is played again before that. */
  function promise(play: Play): void {
    const held = state.sets.get(nameOf(play.viewer, play.business))?.get(play.oid) ?? 0
    if (Math.max(held, play.playedAt) <= scheduler.now()) state.promise(play)
    else state.put(play)
  }

  /** As somebody would who thinks that reading is all there is to it. */
  function markAtOnce(viewer: ViewerId, business: BusinessNumber): void {
    const key = `${MARK_MONTH}:${viewer}`
    const before = records.filters.get(key)
    const mark = new Map([...decodeMark(before?.filter), [business, { plays: 0, outside: 0, invalid: 0 }] as const])
    const version = (before?.version ?? 0) + 1
    records.filters.set(key, {
      ...{ viewer, month: MARK_MONTH, filter: encodeMark(mark), version },
      expiresAt: before?.expiresAt ?? scheduler.now() + 180 * DAY_MS,
    })
  }

  /** The old system, which knows nothing of ours until it is told to send plays here as well. */
  function play(): void {
    const viewer = pick(viewers)
    const business = pick(businesses)
    if (!state.isOf(viewer, business)) return
    if (chance(0.25)) {
      history?.note(scheduler.now(), `the old system trims the set of business ${business}`, viewer)
      state.trimOldest(viewer, business)
      return
    }
    const played: Play = {
      viewer,
      business,
      oid: pick(OIDS),
      playedAt: scheduler.now() - (chance(0.5) ? 0 : randomBelow(random, 90 * MINUTE_MS)),
    }
    history?.note(scheduler.now(), `the old system has ${business}:${played.oid} played`, viewer)
    if (phase === 'beginning' || phase === 'told' || !named.has(viewer)) {
      promise(played)
      return
    }
    const isFirstHere = chance(0.5)
    if (!isFirstHere) state.put(played)
    const process = world.serving()[0]
    if (process !== undefined) void record(process, played)
    if (isFirstHere) state.put(played)
  }

  /** Whatever becomes of it: what is recorded here is looked at where it is staged, or logged. */
  async function record(process: SeenProcess, { viewer, business, oid, playedAt }: Play): Promise<void> {
    asked.set(process, (asked.get(process) ?? 0) + 1)
    try {
      await process.service.recordPlayed({ id: viewer, scopes: [] }, BUSINESS_NAMES[business - 1] as string, [oid], playedAt, new Set())
    } catch (error) {
      history?.note(scheduler.now(), `the old system is not heard here: ${String(error)}`, viewer)
    }
    asked.set(process, (asked.get(process) ?? 0) - 1)
  }

  /** `tidemark migrate-played`, by the code that lists. Its place is in a file, which outlives it. */
  function begin(): void {
    const life: Life = { name: `migrate-played ${++runsBegun}`, dead: false, skewMs: skewMaxMs === 0 ? 0 : between(-skewMaxMs, skewMaxMs) }
    history?.note(scheduler.now(), `--- ${life.name} begins${keepsPlace ? ` after line ${line}` : ''}`)
    runs.add(life)
    list(life).then(
      () => {
        if (!runs.delete(life)) return
        history?.note(scheduler.now(), `--- ${life.name} has listed all viewers`)
        if (phase === 'listing') phase = 'moving'
        checkListed(life)
      },
      (error: unknown) => {
        runs.delete(life)
        history?.note(scheduler.now(), `--- ${life.name} ends: ${String(error)}`)
      },
    )
  }

  async function list(life: Life): Promise<void> {
    const [gate, clock] = [scheduler.gateOf(life), scheduler.clockOf(life)]
    const shape = world.shape()
    const staging = openSimulatedSeenStore(hot, shape, gate)
    const port = openSimulatedLegacyPlays(state, gate, scheduler.now, 0, legacy.pageMax)
    const stored = openSimulatedSeenRecords(records, {}, checker.recordsObserver, gate)
    const after = keepsPlace ? line : 0
    const place: PlaceKeeper = {
      line: after,
      put: (done) => void (line = faults.resumesPast === true ? (lines.find((each) => each.line > done)?.line ?? done) : done),
    }
    await port.check()
    const left = async function* () {
      yield* lines.filter((each) => each.line > after)
    }
    await listViewers(clock, { hot: staging, records: stored, legacy: port }, inBatches(left(), batchMax), place, {
      ...{ businesses, shape, isDry: false, onMistake: () => undefined, onBatch: () => undefined },
      pace: () => new Promise<void>((resolve) => clock.after(between(1, 100), resolve)),
    })
  }

  function kill(life: Life): void {
    history?.note(scheduler.now(), `--- ${life.name} dies`)
    scheduler.kill(life)
    runs.delete(life)
  }

  function isListed(viewer: ViewerId, business: BusinessNumber): boolean {
    return hot.stagedOf(viewer).some((each) => isListing(each) && listedBusiness(each) === business)
  }

  function isMarked(viewer: ViewerId, business: BusinessNumber): boolean {
    return decodeMark(records.filters.get(`${MARK_MONTH}:${viewer}`)?.filter).has(business)
  }

  /** Those that are to be moved. */
  function wanted(): [ViewerId, BusinessNumber][] {
    return [...named].flatMap((viewer) =>
      businesses.flatMap((business): [ViewerId, BusinessNumber][] => (state.isOf(viewer, business) ? [[viewer, business]] : [])),
    )
  }

  function checkListed(life: Life): void {
    for (const [viewer, business] of wanted())
      if (!isListed(viewer, business) && !isMarked(viewer, business) && !checker.moved.has(nameOf(viewer, business)))
        checker.fail(`listed: ${life.name} has come to the end of the file, and business ${business} is not listed`, viewer)
  }

  function isTold(): boolean {
    return world.processes().every((process) => process.setting === setting)
  }

  function tell(next: Setting): void {
    setting = next
    history?.note(
      scheduler.now(),
      `--- processes shall ${next === 'none' ? 'know of no legacy store' : next === 'read' ? 'write to the legacy store no more' : 'know of the legacy store'}`,
    )
  }

  /** The next thing to be done, if it is time. */
  function goOn(): void {
    if (phase === 'beginning') {
      if (setting === 'none') tell('both')
      if (isTold()) phase = 'told'
    } else if (phase === 'told') {
      phase = 'listing'
      if (lines.length > 0) begin()
    } else if (phase === 'listing') {
      if (lines.length === 0) phase = 'moving'
      else if (runs.size === 0) begin()
    } else if (phase === 'moving') {
      if (wanted().every(([viewer, business]) => isMarked(viewer, business))) phase = 'moved'
    } else if (phase === 'moved') {
      if (goesOn) tell('read')
      phase = goesOn ? 'ending' : 'ended'
    } else if (phase === 'ending' && isTold()) {
      phase = 'ended'
      if (wanted().length === viewers.length * businesses.length) tell('none')
    }
  }

  return {
    legacy,
    businesses,
    wanted,
    isMarked,
    setting: () => setting,
    isTold,
    isBusyAt: (process: SeenProcess) => (asked.get(process) ?? 0) > 0,
    /** Has the command come to its end? */
    hasListed: () => !['beginning', 'told', 'listing'].includes(phase),
    /** Is anybody listed? Whoever moves him may wait for nothing but his turn. */
    isMoving: () => [...hot.state.viewers.keys()].some((viewer) => hot.stagedOf(viewer).some(isListing)),
    isDone: () => phase !== 'listing' && runs.size === 0,
    /** One of the things that happen by themselves. */
    act(): void {
      const what = random()
      if (what < 0.03) play()
      else if (what < 0.06) goOn()
      else if (what < 0.062) world.damage()
      else if (what < 0.064 && runs.size > 0 && runs.size < 3) begin()
      else if (what < (diesOften ? 0.09 : 0.065)) for (const life of runs) kill(life)
    },
    /** It is quiet: what was begun is done. */
    finish(): void {
      if (phase !== 'listing' || runs.size > 0) return
      if (lines.length > 0) begin()
      else phase = 'moving'
    },
    /** Whoever runs with another shape of the ring does so no longer. */
    killAll: () => runs.forEach(kill),
  }
}
