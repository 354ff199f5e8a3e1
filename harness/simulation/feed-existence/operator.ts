/**
 * Whoever moves viewers from a legacy store, as README has it: tells processes of it one by one, has all plays come in here, lists
 * the viewers of a file with the command (which dies, is begun again, and maybe runs twice), waits until all are marked, and then
 * goes on or goes back. Meanwhile the old system lives on: it plays, by itself before the listing and to both sides after, and
 * trims its sets.
 *
 * It draws from a generator of its own, so that worlds without a migration are what they were.
 */
import { legacySchema } from '../../../config/legacy.ts'
import type { BusinessNumber, ViewerId } from '../../../core/domain.ts'
import { seededRandom, type Random } from '../../../core/random.ts'
import { MARK_MONTH, decodeMark, encodeMark, isListing, listedBusiness } from '../../../subgraphs/feed-existence/migration/progress.ts'
import { makeDice } from '../dice.ts'
import type { Life } from '../life.ts'
import { BUSINESS_NAMES } from './universe.ts'
import { drawFile, makeListingRuns } from './listing-runs.ts'
import { makeLegacyState, nameOf } from './model-legacy.ts'
import { makeOldSystem } from './old-system.ts'
import type { OperatorWorld } from './operator-world.ts'
import type { LegacyWorld, Setting } from './process.ts'
import { BUSINESSES } from './universe.ts'

/** What the operator waits for. */
type Phase = 'beginning' | 'told' | 'listing' | 'moving' | 'moved' | 'ending' | 'ended'

const DAY_MS = 86_400_000
const MIGRATING_OF_ALL = 0.5

export type SeenOperator = ReturnType<typeof makeSeenOperator>

/** Undefined where nobody is moved. */
export function makeSeenOperator(seed: number, world: OperatorWorld) {
  const random = seededRandom(seed ^ 0x5bd1e995)
  if (random() >= MIGRATING_OF_ALL) return undefined
  const { chance, between, pick } = makeDice(random)
  const { history, hot, viewers } = world
  const businesses: readonly BusinessNumber[] = chance(0.8) ? BUSINESSES : [pick(BUSINESSES)]
  const legacy = drawLegacy(random, world, businesses)
  const { state } = legacy
  const lines = drawFile(viewers, chance)
  const named = new Set(lines.flatMap(({ viewer }) => viewer ?? []))
  const batchMax = between(1, 3)
  const [goesOn, keepsPlace] = [chance(0.6), chance(0.8)]
  const diesOften = chance(0.6)
  let phase: Phase = 'beginning'
  let setting: Setting = chance(0.6) ? 'both' : 'none'
  const { wanted, isMarked, checkListed } = makeListed(world, legacy, businesses, named)
  const runs = makeListingRuns(random, world, legacy, { lines, businesses, batchMax, keepsPlace }, (life) => {
    if (phase === 'listing') phase = 'moving'
    checkListed(life)
  })
  const oldSystem = makeOldSystem(
    random,
    world,
    state,
    businesses,
    (viewer) => phase !== 'beginning' && phase !== 'told' && named.has(viewer),
  )
  oldSystem.fillSets()

  function isTold(): boolean {
    return world.processes().every((process) => process.setting === setting)
  }

  function tell(next: Setting): void {
    setting = next
    history?.note(
      world.scheduler.now(),
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
      if (lines.length > 0) runs.begin()
    } else if (phase === 'listing') {
      if (lines.length === 0) phase = 'moving'
      else if (runs.count() === 0) runs.begin()
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
    isBusyAt: oldSystem.isBusyAt,
    /** Has the command come to its end? */
    hasListed: () => !['beginning', 'told', 'listing'].includes(phase),
    /** Is anybody listed? Whoever moves him may wait for nothing but his turn. */
    isMoving: () => [...hot.state.viewers.keys()].some((viewer) => hot.stagedOf(viewer).some(isListing)),
    isDone: () => phase !== 'listing' && runs.count() === 0,
    /** One of the things that happen by themselves. */
    act(): void {
      const what = random()
      if (what < 0.03) oldSystem.play()
      else if (what < 0.06) goOn()
      else if (what < 0.062) world.damage()
      else if (what < 0.064 && runs.count() > 0 && runs.count() < 3) runs.begin()
      else if (what < (diesOften ? 0.09 : 0.065)) runs.killAll()
    },
    /** It is quiet: what was begun is done. */
    finish(): void {
      if (phase !== 'listing' || runs.count() > 0) return
      if (lines.length > 0) runs.begin()
      else phase = 'moving'
    },
    /** Whoever runs with another shape of the ring does so no longer. */
    killAll: () => runs.killAll(),
  }
}

function drawLegacy(
  random: Random,
  { scheduler, checker, records, faults }: OperatorWorld,
  businesses: readonly BusinessNumber[],
): LegacyWorld {
  const { between, chance } = makeDice(random)
  const config = legacySchema.parse({
    urls: ['redis://legacy:6379'],
    patienceMs: between(50, 1_000),
    absentMs: chance(0.3) ? 0 : between(1, 10_000),
    membersPerSecond: chance(0.5) ? between(100, 1_000) : 100_000,
  })

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

  return {
    state: makeLegacyState(faults, businesses, () => checker.nextTick()),
    config: { ...config, businesses: businesses.map((number) => BUSINESS_NAMES[number - 1] as string) },
    pageMax: between(1, 6),
    onWholeRead: (viewer, business) => void (faults.marksFirst === true && markAtOnce(viewer, business)),
  }
}

/** Who is to be moved, and how far each of them is. */
function makeListed(
  { checker, hot, records }: OperatorWorld,
  { state }: LegacyWorld,
  businesses: readonly BusinessNumber[],
  named: ReadonlySet<ViewerId>,
) {
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

  return { wanted, isMarked, checkListed }
}
