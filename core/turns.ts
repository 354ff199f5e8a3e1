/**
 * Turns of the event loop, for work that takes long. It is done in portions of a few milliseconds, each of which waits for a turn
 * of its own, whoever's it is: so requests are answered between any two, however many such works are under way.
 */
import { setImmediate } from 'node:timers/promises'

/** Resolves when others have had their turn, to one caller after the other. */
export function makeTurns(): () => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  return async () => {
    last = last.then(() => setImmediate())
    await last
  }
}

/** Of one piece of work: the turn to wait for before so many bytes are worked on; undefined as long as it has worked on few since its last one. */
export function makePortions(nextTurn: () => Promise<void>, bytesMax: number): (bytes: number) => Promise<void> | undefined {
  let worked = 0
  return (bytes) => {
    worked += bytes
    if (worked <= bytesMax) return undefined
    worked = bytes
    return nextTurn()
  }
}
