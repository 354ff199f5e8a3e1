/** A stream for one subscriber, in which only the newest value waits. */

export type LatestStream<T> = {
  readonly iterator: AsyncIterableIterator<T>
  /** Replaces a value that waits. */
  push(value: T): void
}

/** `onEnd` is called once, when the subscriber has returned the iterator. */
export function openLatestStream<T>(onEnd: () => void): LatestStream<T> {
  let waiting: { value: T } | undefined
  let pulls: ((result: IteratorResult<T>) => void)[] = []
  let hasEnded = false

  function hand(): void {
    if (waiting === undefined) return
    const pull = pulls.shift()
    if (pull === undefined) return
    const { value } = waiting
    waiting = undefined
    pull({ done: false, value })
  }

  function end(): Promise<IteratorResult<T>> {
    if (!hasEnded) {
      hasEnded = true
      waiting = undefined
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
  return {
    iterator,
    push(value) {
      if (hasEnded) return
      waiting = { value }
      hand()
    },
  }
}
