/** Actions of a device: it plays, is served, asks `unseen`, and asks for reasons. The checker judges each answer. */
import type { BusinessNumber, Play, ViewerId } from '../../../core/domain.ts'
import { isTidemarkError } from '../../../core/errors.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import type { Viewer } from '../../../core/viewer.ts'
import type { Scheduler } from '../scheduler.ts'
import type { SeenChecker } from './checker.ts'
import type { PlayDraws } from './plays.ts'
import type { SeenProcess } from './process.ts'
import { BUSINESSES, BUSINESS_NAMES } from './universe.ts'

export type Client = { viewer: Viewer; name: string; process: SeenProcess | undefined }

/** `logged`: every play that is or may be durable in the log. */
export function makeAsks(random: Random, scheduler: Scheduler, checker: SeenChecker, draws: PlayDraws, logged: readonly Play[]) {
  const { ids, candidates, drawPlayedAt, isGood } = draws

  async function play({ viewer }: Client, process: SeenProcess): Promise<string> {
    const index = randomBelow(random, 2)
    const business = BUSINESSES[index] as number
    const oids = ids(3)
    const playedAt = drawPlayedAt()
    const wasGood = playedAt === undefined ? true : isGood(playedAt)
    const since = checker.tick()
    const loggedBefore = logged.length
    const degraded: Degraded = new Set()
    try {
      const { visible } = await process.service.recordPlayed(viewer, BUSINESS_NAMES[index] as string, oids, playedAt, degraded)
      if (wasGood === false) checker.fail(`errors: a play with the invalid time ${playedAt} was accepted`, viewer.id)
      const before = { since, playedAt, inLog: logged.slice(loggedBefore) }
      for (const oid of oids) checkAcknowledged({ viewer: viewer.id, business, oid }, visible, before, process)
      return `plays ${business}:${oids.join()} at ${playedAt ?? 'now'}: ${visible ? 'visible' : 'logged'}`
    } catch (error) {
      const code = isTidemarkError(error) ? error.code : undefined
      if (code === 'PLAYED_AT_INVALID' && wasGood !== true) return 'a play of a bad time is refused'
      // The hot store and the log are both down.
      if (code === 'LOG_UNAVAILABLE') return 'a play is refused'
      throw error
    }
  }

  /** An acknowledged play is staged or in the log. */
  function checkAcknowledged(
    key: { viewer: ViewerId; business: BusinessNumber; oid: string },
    visible: boolean,
    { since, playedAt, inLog }: { since: number; playedAt: number | undefined; inLog: readonly Play[] },
    process: SeenProcess,
  ): void {
    const { viewer, business, oid } = key
    const own = inLog.filter((each) => each.oid === oid && each.business === business && each.viewer === viewer)
    const isStaged = playedAt === undefined ? checker.hasLandedAnyhow(key, since) : checker.landedSince({ ...key, playedAt }, since)
    if (visible && !isStaged) checker.fail(`acknowledged: ${business}:${oid} is visible, but was never staged`, viewer)
    if (!visible && own.length === 0) checker.fail(`acknowledged: ${business}:${oid} is neither staged nor in the log`, viewer)
    const earliest = own.toSorted((one, other) => one.playedAt - other.playedAt)[0]
    if (!visible && earliest !== undefined) checker.acknowledged(process.life, earliest, since)
  }

  async function serve({ viewer }: Client, process: SeenProcess): Promise<string> {
    const index = randomBelow(random, 2)
    const oids = ids(4)
    const degraded: Degraded = new Set()
    const { recorded } = await process.service.recordIssued(viewer, BUSINESS_NAMES[index] as string, oids, degraded)
    if (!recorded && !degraded.has('hotStore')) checker.fail('errors: issued subjects are lost, and the answer is not degraded', viewer.id)
    return `is served ${BUSINESSES[index]}:${oids.join()}: ${recorded}`
  }

  async function ask({ viewer }: Client, process: SeenProcess): Promise<string> {
    const index = randomBelow(random, 2)
    return askOf(viewer, process, index, candidates(), random() < 0.2 ? ids(3) : [])
  }

  async function askOf(viewer: Viewer, process: SeenProcess, index: number, asked: readonly string[], exclude: string[]): Promise<string> {
    const reading = checker.begin(viewer.id, BUSINESSES[index] as number, process)
    const degraded: Degraded = new Set()
    const answer = await process.service.unseen(viewer, BUSINESS_NAMES[index] as string, asked, exclude, degraded)
    checker.checkUnseen(reading, asked, exclude, answer, degraded, scheduler.now() + process.life.skewMs)
    return `is shown ${answer.ids.join()}${degraded.size > 0 ? ` (without ${[...degraded].join()})` : ''}`
  }

  async function askReasons({ viewer }: Client, process: SeenProcess): Promise<string> {
    const business = BUSINESSES[randomBelow(random, 2)] as number
    const oids = candidates()
    const reading = checker.begin(viewer.id, business, process)
    const degraded: Degraded = new Set()
    const { seen } = process.makeLoaders(degraded)
    const reasons = await Promise.all(oids.map((oid) => seen.load({ viewer: viewer.id, business, oid })))
    checker.checkReasons(reading, oids, reasons, degraded, scheduler.now() + process.life.skewMs)
    return 'asks for reasons'
  }

  return { play, serve, ask, askOf, askReasons }
}
