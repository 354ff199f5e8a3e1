/**
 * The operator of a migration from a legacy store, as documented. The operator configures processes one by one, has all plays sent here,
 * and lists the viewers of a file with the command, which may die, be repeated and overlap. When all viewers are marked, the operator
 * continues or goes back. Meanwhile the old system keeps running (`old-system.ts`).
 *
 * The operator has its own random generator, so worlds without a migration stay the same.
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

/** The next step that the operator waits for. */
type Phase = 'beginning' | 'told' | 'listing' | 'moving' | 'moved' | 'ending' | 'ended'

const DAY_MS = 86_400_000
const MIGRATING_OF_ALL = 0.5

export type SeenOperator = ReturnType<typeof makeSeenOperator>

/** Undefined in a world without a migration. */
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

  /** Takes the next step if it is due. */
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
    /** True if the command has listed all viewers. */
    hasListed: () => !['beginning', 'told', 'listing'].includes(phase),
    /** True if a viewer is listed. The process that migrates a viewer may wait only for its turn of the event loop. */
    isMoving: () => [...hot.state.viewers.keys()].some((viewer) => hot.stagedOf(viewer).some(isListing)),
    isDone: () => phase !== 'listing' && runs.count() === 0,
    /** One of the operator's or the old system's own actions, with a small probability. */
    act(): void {
      const what = random()
      if (what < 0.03) oldSystem.play()
      else if (what < 0.06) goOn()
      else if (what < 0.062) world.damage()
      else if (what < 0.064 && runs.count() > 0 && runs.count() < 3) runs.begin()
      else if (what < (diesOften ? 0.09 : 0.065)) runs.killAll()
    },
    /** After quiet: completes a migration that was begun. */
    finish(): void {
      if (phase !== 'listing' || runs.count() > 0) return
      if (lines.length > 0) runs.begin()
      else phase = 'moving'
    },
    /** Kills all runs, because they have another shape of the ring. */
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

  /** The planted fault: marks the viewer without a fold. */
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

/** The viewers to migrate, and the progress of each. */
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

  /** The viewers and businesses to migrate. */
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
