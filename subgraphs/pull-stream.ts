/** A stream for one subscriber. It hands over a value when the subscriber asks for one and there is one. */

export type PullStream<T> = {
  readonly iterator: AsyncIterableIterator<T>
  /** To be called when there may be a value. */
  hand(): void
  hasEnded(): boolean
}

/**
 * `take` returns the next value, and forgets it; undefined: there is none now. `onEnd` is called once, when the subscriber has returned the
 * iterator.
 */
export function openPullStream<T>(take: () => T | undefined, onEnd: () => void): PullStream<T> {
  let pulls: ((result: IteratorResult<T>) => void)[] = []
  let hasEnded = false

  function hand(): void {
    if (pulls.length === 0) return
    const value = take()
    if (value !== undefined) pulls.shift()?.({ done: false, value })
  }

  function end(): Promise<IteratorResult<T>> {
    if (!hasEnded) {
      hasEnded = true
      onEnd()
      for (const pull of pulls) pull({ done: true, value: undefined })
      pulls = []
    }
    return Promise.resolve({ done: true, value: undefined })
  }

  const iterator: AsyncIterableIterator<T> = {
    [Symbol.asyncIterator]: () => iterator,
    next() {
      if (hasEnded) return Promise.resolve({ done: true, value: undefined })
      return new Promise((resolve) => {
        pulls.push(resolve)
        hand()
      })
    },
    return: end,
    throw: end,
  }
  return { iterator, hand, hasEnded: () => hasEnded }
}
