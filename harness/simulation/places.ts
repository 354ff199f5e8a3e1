/**
 * The places of processes, in all worlds. A place starts one process after the other, drains it or loses it. Faults of the whole deployment
 * are here too: stores that go down, and rebalances.
 */
import { randomBelow, type Random } from '../../core/random.ts'
import type { ViewerId } from '../../core/domain.ts'
import type { StoreName } from './gate.ts'
import type { History } from './history-of-events.ts'
import type { Member, makeLogState } from './model-log.ts'
import type { Between, Chance } from './dice.ts'
import type { Life } from './life.ts'
import type { makeScheduler } from './scheduler.ts'

/** Takes requests, persists, or does both. */
export type Role = { serves: boolean; persists: boolean }

/** The common part of the processes of all worlds. */
export type PlacedProcess = Role & { life: Life; member(): Member | undefined; stop(): Promise<void> }

export type Place<P> = { role: Role; process: P | undefined; starts: number; stopping: '' | 'asked' | 'begun' }

export type PlacesDeps<P, L> = {
  random: Random
  scheduler: ReturnType<typeof makeScheduler>
  log: Pick<ReturnType<typeof makeLogState>, 'members' | 'assign' | 'leave'>
  clients: { lose(process: P): void; isBusyAt(process: P): boolean }
  checker: { fail(message: string, viewer: ViewerId | undefined): void }
  history: History | undefined
  /** Milliseconds after which a process gives up a call. Such calls may be left when it has stopped. */
  patienceMs: number
  /** An outage lasts two seconds at most, and one in five lasts up to this long. */
  outageMaxMs: number
  /** Starts a process of that name. */
  launch(place: L, name: string): P
}

export type Placed<P extends PlacedProcess, L extends Place<P>> = ReturnType<typeof makePlaces<P, L>>

export function makePlaces<P extends PlacedProcess, L extends Place<P>>(places: readonly L[], deps: PlacesDeps<P, L>) {
  const { random, scheduler, log, clients, checker, history, patienceMs, outageMaxMs, launch } = deps
  const between = (from: number, to: number): number => from + randomBelow(random, to - from + 1)

  function start(place: L, index: number): void {
    const kind = place.role.serves ? (place.role.persists ? 'all' : 'service') : 'job'
    place.process = launch(place, `${kind} ${index + 1}.${++place.starts}`)
  }

  function end(place: L, how: string): void {
    const process = place.process as P
    history?.note(scheduler.now(), `--- ${process.life.name} ${how}`)
    scheduler.kill(process.life)
    clients.lose(process)
    const member = process.member()
    // The group notices the missing heartbeat.
    if (member !== undefined) scheduler.wait(between(10, 500), undefined, () => log.leave(member))
    place.process = undefined
    place.stopping = ''
  }

  let deaths = 0

  return {
    start,
    end,
    startAll: (): void => places.forEach(start),
    startOrKill(place: L): void {
      if (place.process === undefined) {
        start(place, places.indexOf(place))
        return
      }
      deaths++
      end(place, 'dies')
    },
    /** How many processes were killed. */
    deaths: () => deaths,
    askToStop(place: L): void {
      if (place.process !== undefined) place.stopping ||= 'asked'
    },
    startMissing(): void {
      for (const [index, place] of places.entries()) if (place.process === undefined) start(place, index)
    },
    restartOne(): void {
      const index = places.findIndex((place) => place.process === undefined)
      if (index >= 0) start(places[index] as L, index)
    },
    /** As a drain: no new requests, open ones are answered, then the process flushes. */
    drain(): void {
      for (const place of places) {
        const { process, stopping } = place
        if (process === undefined || stopping !== 'asked' || clients.isBusyAt(process)) continue
        place.stopping = 'begun'
        void process.stop().then(() => {
          if (place.process !== process) return
          const left = scheduler.left(process.life, patienceMs)
          if (left !== '') checker.fail(`${process.life.name} has stopped, but ${left} is left`, undefined)
          end(place, 'has stopped')
        })
      }
    },
    breakOrMend(store: StoreName): void {
      scheduler.setDown(store, !scheduler.isDown(store))
      if (scheduler.isDown(store)) {
        scheduler.wait(between(50, random() < 0.2 ? outageMaxMs : 2_000), undefined, () => {
          if (scheduler.isDown(store)) scheduler.setDown(store, false)
        })
      }
    },
    mendAll(stores: readonly StoreName[]): void {
      for (const store of stores) if (scheduler.isDown(store)) scheduler.setDown(store, false)
    },
    rebalance(): void {
      if (log.members.size > 0) log.assign(randomBelow(random, log.members.size))
      history?.note(scheduler.now(), '--- rebalance')
    },
    /** The processes that take requests. */
    serving: (): P[] => places.flatMap(({ process, stopping }) => (process?.serves === true && stopping === '' ? [process] : [])),
  }
}

export function drawRoles(between: Between, chance: Chance): Role[] {
  if (chance(0.2)) return Array.from({ length: between(1, 3) }, () => ({ serves: true, persists: true }))
  return [
    ...Array.from({ length: between(1, 3) }, () => ({ serves: true, persists: false })),
    ...Array.from({ length: between(1, 2) }, () => ({ serves: false, persists: true })),
  ]
}
