/**
 * The old system, which keeps running during the migration. It writes plays to its own sets, and to both sides once the viewer is listed.
 * It also trims its sets.
 */
import type { BusinessNumber, Play, ViewerId } from '../../../core/domain.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import { beginningOf, monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import { makeDice } from '../dice.ts'
import { BUSINESS_NAMES } from './universe.ts'
import { nameOf, type LegacyState } from './model-legacy.ts'
import type { OperatorWorld } from './operator-world.ts'
import type { SeenProcess } from './process.ts'
import { OIDS } from './universe.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** `playsHere`: whether the old system also sends the viewer's plays to Tidemark by now. */
export function makeOldSystem(
  random: Random,
  { scheduler, history, viewers, monthsBefore, serving }: OperatorWorld,
  state: LegacyState,
  businesses: readonly BusinessNumber[],
  playsHere: (viewer: ViewerId) => boolean,
) {
  const { between, chance, pick } = makeDice(random)
  /** The number of calls of the old system in flight at each process. */
  const asked = new Map<SeenProcess, number>()

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
    if (what < 0.95) return Math.min(now, beginningOf(monthOf(now) - between(0, monthsBefore + 1)) + between(-1, 1))
    return now + 3 * DAY_MS
  }

  /** A play with a future time is never promised, even if an earlier play of the subject follows. */
  function promise(play: Play): void {
    const held = state.sets.get(nameOf(play.viewer, play.business))?.get(play.oid) ?? 0
    if (Math.max(held, play.playedAt) <= scheduler.now()) state.promise(play)
    else state.put(play)
  }

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
    if (!playsHere(viewer)) {
      promise(played)
      return
    }
    const isFirstHere = chance(0.5)
    if (!isFirstHere) state.put(played)
    const process = serving()[0]
    if (process !== undefined) void record(process, played)
    if (isFirstHere) state.put(played)
  }

  /** The outcome does not matter here: recorded plays are checked when they are staged or logged. */
  async function record(process: SeenProcess, { viewer, business, oid, playedAt }: Play): Promise<void> {
    asked.set(process, (asked.get(process) ?? 0) + 1)
    try {
      await process.service.recordPlayed({ id: viewer, scopes: [] }, BUSINESS_NAMES[business - 1] as string, [oid], playedAt, new Set())
    } catch (error) {
      history?.note(scheduler.now(), `the old system is not heard here: ${String(error)}`, viewer)
    }
    asked.set(process, (asked.get(process) ?? 0) - 1)
  }

  return { fillSets, play, isBusyAt: (process: SeenProcess) => (asked.get(process) ?? 0) > 0 }
}
