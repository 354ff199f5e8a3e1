/**
 * What subscriptions that are open cost together. An operation is refused for what it costs by itself, but a subscription
 * stays: each holds memory for whatever it follows until it ends, so that many small ones are as bad as a large one.
 *
 * The cost of a subscription is open from before it is opened until its stream has ended, in whichever way: a client that
 * completes it while it is being opened has not given anything back yet.
 */
import type { ExecutionResult } from 'graphql'
import { once } from '../../core/once.ts'

/** Characters of a request that count as a point: a subscription keeps its request as long as it is open. An id has about 20. */
const CHARACTERS_PER_POINT = 100

/** A subscription keeps about 10.7 KB besides the ids that it follows, and an id 200 bytes: `npm run bench -- open-bytes`. */
const POINTS_PER_SUBSCRIPTION = 50

/** The cost of an open subscription: a fixed part, and the ids that it follows or the size of its request. */
export function costOpen(followed: number, characters: number): number {
  return POINTS_PER_SUBSCRIPTION + Math.max(followed, Math.ceil(characters / CHARACTERS_PER_POINT))
}

export type OpenCost = {
  /** Undefined, and nothing is taken, if there is no room for it. Otherwise what gives it back; more than once is as once. */
  take(cost: number): (() => void) | undefined
}

export function makeOpenCost(max: number): OpenCost {
  let open = 0
  return {
    take(cost) {
      if (open + cost > max) return undefined
      open += cost
      return once(() => (open -= cost))
    },
  }
}

/** Opens a stream. `release` runs when the stream ends, or at once if it does not open. */
export async function subscribeHeld(subscribe: () => Promise<Opened>, release: () => void): Promise<Opened> {
  try {
    const opened = await subscribe()
    if (Symbol.asyncIterator in opened) return whenEnded(opened, release)
    release()
    return opened
  } catch (error) {
    release()
    throw error
  }
}

type Opened = ExecutionResult | AsyncGenerator<ExecutionResult, void, void>

/** The same stream; `ended` runs when it is at its end, has failed, or was left. A generator function could be left before it begins. */
export function whenEnded<T>(stream: AsyncGenerator<T, void, void>, ended: () => void): AsyncGenerator<T, void, void> {
  async function stepped(step: Promise<IteratorResult<T, void>>): Promise<IteratorResult<T, void>> {
    try {
      const result = await step
      if (result.done === true) ended()
      return result
    } catch (error) {
      ended()
      throw error
    }
  }
  return {
    next: () => stepped(stream.next()),
    async return() {
      const left = await stepped(stream.return())
      ended()
      return left
    },
    async throw(error) {
      const thrown = await stepped(stream.throw(error))
      ended()
      return thrown
    },
    [Symbol.asyncIterator]() {
      return this
    },
    async [Symbol.asyncDispose]() {
      await this.return()
    },
  }
}
