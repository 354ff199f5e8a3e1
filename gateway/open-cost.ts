/**
 * What subscriptions that are open cost together. An operation is refused for what it costs by itself, but a subscription
 * stays: each holds memory for whatever it follows until it ends, so that many small ones are as bad as a large one.
 *
 * The cost of a subscription is open from before it is opened until its stream has ended, in whichever way: a client that
 * completes it while it is being opened has not given anything back yet.
 */
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
      let isOpen = true
      return () => {
        if (isOpen) open -= cost
        isOpen = false
      }
    },
  }
}

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
