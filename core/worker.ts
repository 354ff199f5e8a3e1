/**
 * The background worker. It runs rounds of work, one at a time, and plans the next round itself. A failed round is reported, and the next one
 * tries again.
 */
import type { Clock, Timer } from './clock.ts'

export type Worker = {
  /** Begins a round now. If a round is under way, another one follows it. Resolves when the worker rests. */
  wake(): Promise<void>
  /** Begins a round after so many milliseconds, unless one is planned or under way. */
  plan(afterMs: number): void
  isBusy(): boolean
  isPlanned(): boolean
  /** Resolves when no round is under way. Does not request one. */
  rest(): Promise<void>
  /** Resolves after the round under way, whose `mayGoOn` returns false from now on. Idempotent. */
  stop(): Promise<void>
}

export type Round = (mayGoOn: () => boolean) => Promise<unknown>

/** `nextMs`: milliseconds from the end of a round to the next; undefined: the worker rests until it is woken or a round is planned. */
export function makeWorker(clock: Clock, round: Round, nextMs: () => number | undefined, onError: (error: unknown) => void): Worker {
  let isStopped = false
  let isRunning = false
  let isWanted = false
  let timer: Timer | undefined
  let underWay: Promise<void> | undefined

  async function run(): Promise<void> {
    do {
      isWanted = false
      await round(() => !isStopped).catch(onError)
    } while (isWanted && !isStopped)
    isRunning = false
    underWay = undefined
    const afterMs = isStopped ? undefined : nextMs()
    if (afterMs !== undefined) plan(afterMs)
  }

  function wake(): Promise<void> {
    timer?.cancel()
    timer = undefined
    if (isRunning) isWanted = true
    else if (!isStopped) {
      isRunning = true
      underWay = run()
    }
    return underWay ?? Promise.resolve()
  }

  function plan(afterMs: number): void {
    if (!isStopped && !isRunning) timer ??= clock.after(afterMs, () => void wake())
  }

  return {
    wake,
    plan,
    isBusy: () => isRunning,
    isPlanned: () => timer !== undefined,
    rest: () => underWay ?? Promise.resolve(),
    async stop() {
      isStopped = true
      timer?.cancel()
      await underWay
    },
  }
}

/** A worker with a round every so many milliseconds, the first one after that time. `everyMs`: also a function, asked after each round. */
export function startWorker(clock: Clock, everyMs: number | (() => number), round: Round, onError: (error: unknown) => void): Worker {
  const nextMs = typeof everyMs === 'function' ? everyMs : () => everyMs
  const worker = makeWorker(clock, round, nextMs, onError)
  worker.plan(nextMs())
  return worker
}
