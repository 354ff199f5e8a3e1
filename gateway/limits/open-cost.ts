/**
 * Limits the total cost of open subscriptions. A query holds memory only while it runs. A subscription holds memory for each id that it
 * follows until it ends, so many small subscriptions take as much as a large one.
 *
 * The cost is taken before a subscription is opened, and it is released when its stream has ended. A client that completes the subscription
 * while it is being opened releases nothing yet.
 */
import type { ExecutionResult } from 'graphql'
import { once } from '../../core/once.ts'

/** Characters of a request per point: a subscription keeps its request as long as it is open. An id has about 20 characters. */
const CHARACTERS_PER_POINT = 100

/** A subscription keeps about 10.7 KB, and 200 bytes more per id that it follows: `npm run bench -- open-bytes`. */
const POINTS_PER_SUBSCRIPTION = 50

/** The cost of an open subscription: a fixed part, and the ids that it follows or the size of its request. */
export function costOpen(followed: number, characters: number): number {
  return POINTS_PER_SUBSCRIPTION + Math.max(followed, Math.ceil(characters / CHARACTERS_PER_POINT))
}

export type OpenCost = {
  /** Takes the cost and returns the function that releases it. Calling that again has no effect. Undefined if there is no room. */
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

/** The same stream. `ended` runs when it has ended, failed or been closed. A generator function could be closed before it begins to run. */
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
