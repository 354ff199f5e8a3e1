/**
 * Viewers with several devices each. The devices are served, play and ask for more, each time through a random process. Players send
 * reports through the log: late, twice, in any order. A device does one thing at a time. If its process dies, it gets no answer.
 */
import type { Play } from '../../../core/domain.ts'
import type { Random } from '../../../core/random.ts'
import type { PlayLog } from '../../../subgraphs/feed-existence/stores/play-log.ts'
import { makeDice } from '../dice.ts'
import type { History } from '../history-of-events.ts'
import type { Scheduler } from '../scheduler.ts'
import { makeAsks, type Client } from './asks.ts'
import type { SeenChecker } from './checker.ts'
import { makePlayDraws, type SeenClientOptions } from './plays.ts'
import type { SeenProcess } from './process.ts'
import { BUSINESSES, OIDS } from './universe.ts'

export type SeenClients = ReturnType<typeof makeSeenClients>

export function makeSeenClients(
  random: Random,
  scheduler: Scheduler,
  checker: SeenChecker,
  players: PlayLog,
  options: SeenClientOptions,
  history: History | undefined,
) {
  const { viewers } = options
  const { pick } = makeDice(random)
  const clients = viewers.flatMap((id) =>
    Array.from({ length: options.devices }, (_, device): Client => ({
      viewer: { id, scopes: [] },
      name: `${id}/${device}`,
      process: undefined,
    })),
  )
  /** Every play that is or may be durable in the log. */
  const logged: (Play & { loggedAt: number })[] = []
  let reporting = 0
  const draws = makePlayDraws(random, scheduler, options)
  const { play, serve, ask, askOf, askReasons } = makeAsks(random, scheduler, checker, draws, logged)

  function report(): void {
    const plays = draws.drawReport(logged)
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
    /** False if no device is idle, or no process serves. */
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
    /** Devices that wait for this process get no answer. */
    lose(process: SeenProcess): void {
      for (const client of clients) if (client.process === process) client.process = undefined
    },
    isBusyAt: (process: SeenProcess) => clients.some((client) => client.process === process),
    isBusy: () => clients.some((client) => client.process !== undefined),
    /** Asks for all ids of every viewer, through this process. */
    async readAll(process: SeenProcess): Promise<void> {
      for (const id of viewers) for (const index of BUSINESSES.keys()) await askOf({ id, scopes: [] }, process, index, OIDS, [])
    },
  }
}
