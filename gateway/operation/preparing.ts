/**
 * Preparing an operation takes between 0.1 and 100 ms. The work pauses between its steps. Work for a short text runs at once. Work for
 * a long text yields to the event loop at each pause, so that requests are answered between two steps.
 *
 * The caller that causes the work pays for it. Its gate is asked before the work begins, and receives the time that the work took. See
 * limits/preparing-limit.ts.
 */
import { GraphQLError } from 'graphql'
import type { ErrorCode } from '../../core/errors.ts'
import { makeTurns } from '../../core/event-loop-yield.ts'

/** Pauses at each `yield`. */
export type Work<Result> = Generator<void, Result, void>

/** Decides whether a text of this length may be prepared for the caller. A ticket allows it. */
export type Gate = (length: number) => Ticket | GraphQLError
export type Ticket = { spent(ms: number): void }

export type Preparing = {
  /** Throws the error of the gate and errors of the work. A promise rejects with errors of the work. */
  run<Result>(length: number, gate: Gate | undefined, makeWork: () => Work<Result>): Result | Promise<Result>
}

/** Characters from which the work for a text pauses. A text of this length takes about 10 ms. */
const LONG_TEXT = 1_500
/** Works that may wait for their turn. */
const WAITING_MAX = 100

export function makePreparing(now: () => number = () => performance.now()): Preparing {
  const nextTurn = makeTurns()
  let waiting = 0

  function runMeasured<Result>(work: Work<Result>, done: (ms: number) => void): Result {
    const startedAt = now()
    try {
      return runNow(work)
    } finally {
      done(now() - startedAt)
    }
  }

  async function runInTurns<Result>(work: Work<Result>, done: (ms: number) => void): Promise<Result> {
    let spentMs = 0
    waiting += 1
    try {
      for (;;) {
        await nextTurn()
        const startedAt = now()
        let step: IteratorResult<void, Result>
        try {
          step = work.next()
        } finally {
          spentMs += now() - startedAt
        }
        if (step.done === true) return step.value
      }
    } finally {
      waiting -= 1
      done(spentMs)
    }
  }

  return {
    run(length, gate, makeWork) {
      const isLong = length > LONG_TEXT && gate !== undefined
      const ticket = isLong && waiting >= WAITING_MAX ? busy() : gate?.(length)
      if (ticket instanceof GraphQLError) throw ticket
      const done = (ms: number): void => ticket?.spent(ms)
      return isLong ? runInTurns(makeWork(), done) : runMeasured(makeWork(), done)
    },
  }
}

/** Runs all steps at once. */
export function runNow<Result>(work: Work<Result>): Result {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

function busy(): GraphQLError {
  return new GraphQLError(`more than ${WAITING_MAX} operations wait to be prepared: try again in 1 s`, {
    extensions: { code: 'RATE_LIMITED' satisfies ErrorCode, retryAfterMs: 1_000 },
  })
}
