/**
 * Viewers with several devices each, who are served, watch, and ask for more through whichever process they reach; and players
 * whose reports come through the log, late, twice, in any order. A device does one thing at a time; where its process dies it
 * never hears back.
 */
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { Play, ViewerId } from '../../../core/domain.ts'
import { isTidemarkError } from '../../../core/errors.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import { beginningOf, monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import type { Viewer } from '../../../core/viewer.ts'
import type { PlayLog } from '../../../subgraphs/feed-existence/stores/play-log.ts'
import type { History } from '../history-of-events.ts'
import type { Scheduler } from '../scheduler.ts'
import type { SeenChecker } from './checker.ts'
import type { SeenProcess } from './process.ts'
import { BUSINESSES, OIDS } from './universe.ts'

export type SeenClientOptions = {
  viewers: readonly ViewerId[]
  devices: number
  /** Ids that are in use. */
  oids: number
  monthsBefore: number
  futureMaxMs: number
  skewMaxMs: number
}

type Client = { viewer: Viewer; name: string; process: SeenProcess | undefined }

export const BUSINESS_NAMES = ['video', 'article'] as const
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

export type SeenClients = ReturnType<typeof makeSeenClients>

export function makeSeenClients(
  random: Random,
  scheduler: Scheduler,
  checker: SeenChecker,
  players: PlayLog,
  options: SeenClientOptions,
  history: History | undefined,
) {
  const { viewers, monthsBefore, futureMaxMs, skewMaxMs } = options
  const clients = viewers.flatMap((id) =>
    Array.from({ length: options.devices }, (_, device): Client => ({
      viewer: { id, scopes: [] },
      name: `${id}/${device}`,
      process: undefined,
    })),
  )
  /** Everything that was durable in the log, or may be. */
  const logged: (Play & { loggedAt: number })[] = []
  let reporting = 0
  const pick = <T>(from: readonly T[]): T => from[randomBelow(random, from.length)] as T
  const between = (from: number, to: number): number => from + randomBelow(random, to - from + 1)
  const ids = (max: number): string[] => Array.from({ length: between(1, max) }, () => OIDS[randomBelow(random, options.oids)] as string)
  /** Also some that nobody ever plays. */
  const candidates = (): string[] => Array.from({ length: between(3, 2 * OIDS.length) }, () => pick(OIDS))

  /** Undefined: whenever the server says. */
  function drawPlayedAt(): number | undefined {
    const now = scheduler.now()
    const chance = random()
    if (chance < 0.35) return undefined
    if (chance < 0.5) return now
    if (chance < 0.65) return now - randomBelow(random, 90 * MINUTE_MS)
    if (chance < 0.8) return now - randomBelow(random, 40 * DAY_MS)
    // The ends of months, a moment before and after.
    if (chance < 0.92) return Math.min(now, beginningOf(monthOf(now) - between(0, monthsBefore)) + between(-1, 1))
    if (chance < 0.97) return now + randomBelow(random, Math.floor(futureMaxMs / 2))
    return chance < 0.985 ? now + 100 * futureMaxMs : beginningOf(monthOf(now) - monthsBefore - 2)
  }

  /** True, false, or undefined where clocks decide. */
  function isGood(playedAt: number): boolean | undefined {
    const judged = [-1, 1].map((sign) => {
      const now = scheduler.now() + sign * skewMaxMs
      return playedAt <= now + futureMaxMs && monthOf(playedAt) >= monthOf(now) - monthsBefore
    })
    return judged[0] === judged[1] ? judged[0] : undefined
  }

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
      if (wasGood === false) checker.fail(`errors: a play of ${playedAt} was taken`, viewer.id)
      for (const oid of oids) {
        const key = { viewer: viewer.id, business, oid }
        const isSame = (each: Play): boolean => each.oid === oid && each.business === business && each.viewer === viewer.id
        const isStaged = playedAt === undefined ? checker.hasLandedAnyhow(key, since) : checker.landedSince({ ...key, playedAt }, since)
        if (visible && !isStaged) checker.fail(`acknowledged: ${business}:${oid} is visible, and was never staged`, viewer.id)
        const inLog = logged.slice(loggedBefore).filter(isSame)
        if (!visible && inLog.length === 0) checker.fail(`acknowledged: ${business}:${oid} is neither staged nor in the log`, viewer.id)
        const earliest = inLog.toSorted((one, other) => one.playedAt - other.playedAt)[0]
        if (!visible && earliest !== undefined) checker.acknowledged(process.life, earliest, since)
      }
      return `plays ${business}:${oids.join()} at ${playedAt ?? 'now'}: ${visible ? 'visible' : 'logged'}`
    } catch (error) {
      const code = isTidemarkError(error) ? error.code : undefined
      if (code === 'PLAYED_AT_INVALID' && wasGood !== true) return 'a play of a bad time is refused'
      // With the hot store and the log both away.
      if (code === 'LOG_UNAVAILABLE') return 'a play is refused'
      throw error
    }
  }

  async function serve({ viewer }: Client, process: SeenProcess): Promise<string> {
    const index = randomBelow(random, 2)
    const oids = ids(4)
    const degraded: Degraded = new Set()
    const { recorded } = await process.service.recordIssued(viewer, BUSINESS_NAMES[index] as string, oids, degraded)
    if (!recorded && !degraded.has('hotStore')) checker.fail('errors: what was issued is lost, and nobody says so', viewer.id)
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
    const index = randomBelow(random, 2)
    const oids = candidates()
    const reading = checker.begin(viewer.id, BUSINESSES[index] as number, process)
    const degraded: Degraded = new Set()
    const reasons = await process.service.seen(viewer, BUSINESS_NAMES[index] as string, oids, degraded)
    checker.checkReasons(reading, oids, reasons, degraded, scheduler.now() + process.life.skewMs)
    return 'asks for reasons'
  }

  /** What was reported may come again, by itself or with others. */
  function report(): void {
    const plays = Array.from({ length: between(1, 4) }, (): Play => {
      const repeated = random() < 0.2 && logged.length > 0 ? pick(logged) : undefined
      if (repeated !== undefined) return { ...repeated }
      const business = pick(BUSINESSES)
      return { viewer: pick(viewers), business, oid: ids(1)[0] as string, playedAt: drawPlayedAt() ?? scheduler.now() }
    })
    reporting++
    players.appendPlays(plays.map(({ viewer, business, oid, playedAt }) => ({ viewer, business, oid, playedAt }))).then(
      () => void reporting--,
      () => void reporting--,
    )
  }

  async function act(client: Client, process: SeenProcess): Promise<void> {
    client.process = process
    const what = random()
    const task = what < 0.35 ? play : what < 0.5 ? serve : what < 0.92 ? ask : askReasons
    const number = history === undefined ? '' : `#${checker.tick()}`
    history?.note(scheduler.now(), `${client.name} ${number} ${task.name} at ${process.life.name} …`, client.viewer.id)
    try {
      const done = await task(client, process)
      history?.note(scheduler.now(), `${client.name} ${number} ${done}`, client.viewer.id)
    } catch (error) {
      const told = error instanceof Error ? (error.stack ?? error.message) : String(error)
      checker.fail(`errors: ${client.name} ${task.name}: ${told}`, client.viewer.id)
    }
    if (client.process === process) client.process = undefined
  }

  return {
    logged,
    /** False if nobody is free, or nobody serves. */
    act(serving: readonly SeenProcess[]): boolean {
      if (random() < 0.1 && reporting < 4) {
        report()
        return true
      }
      const client = pick(clients)
      if (client.process !== undefined || serving.length === 0) return false
      void act(client, pick(serving))
      return true
    },
    /** Whoever waits for this process never hears back. */
    lose(process: SeenProcess): void {
      for (const client of clients) if (client.process === process) client.process = undefined
    },
    isBusyAt: (process: SeenProcess) => clients.some((client) => client.process === process),
    isBusy: () => clients.some((client) => client.process !== undefined),
    /** Everything there is, of every viewer, through this process. */
    async readAll(process: SeenProcess): Promise<void> {
      for (const id of viewers) for (const index of BUSINESSES.keys()) await askOf({ id, scopes: [] }, process, index, OIDS, [])
    },
  }
}
