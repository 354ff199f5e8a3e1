/**
 * Event-loop yields for long work. The work runs in portions of a few milliseconds. All long works share one queue of
 * portions, each in its own turn of the event loop. Requests are therefore answered between any two portions.
 */
import type { EventEmitter } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { makeFairQueue } from './fair-queue.ts'

/** Resolves in a later turn of the event loop, for one caller per turn. */
export function makeTurns(): () => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  return async () => {
    last = last.then(() => setImmediate())
    await last
  }
}

/** A turn for a lane. Resolves early if `client` closes first, which frees its place. */
export type FairTurns = (lane: string, client: Pick<EventEmitter, 'once' | 'off'>) => Promise<void>

/** One turn per pass of the event loop. Lanes take turns, so each waits for at most one turn of each other lane. */
export function makeFairTurns(): FairTurns {
  const queue = makeFairQueue<() => void>(Infinity)
  let isBusy = false

  async function takeTurns(): Promise<void> {
    isBusy = true
    while (queue.size() > 0) {
      await setImmediate()
      queue.shift()?.()
    }
    isBusy = false
  }

  return (lane, client) =>
    new Promise((resolve) => {
      const done = (): void => {
        queue.remove(lane, done)
        client.off('close', done)
        resolve()
      }
      queue.push(lane, done)
      client.once('close', done)
      if (!isBusy) void takeTurns()
    })
}

/**
 * For one piece of work: the turn to await before it processes this many bytes; undefined while it has processed few
 * since its last turn.
 */
export function makePortions(nextTurn: () => Promise<void>, bytesMax: number): (bytes: number) => Promise<void> | undefined {
  let worked = 0
  return (bytes) => {
    worked += bytes
    if (worked <= bytesMax) return undefined
    worked = bytes
    return nextTurn()
  }
}
