/** A stream for one subscriber, in which only the newest value waits. */
import { openPullStream } from '../../pull-stream.ts'

export type LatestStream<T> = {
  readonly iterator: AsyncIterableIterator<T>
  /** Replaces a value that waits. */
  push(value: T): void
}

/** `onEnd` is called once, when the subscriber has returned the iterator. */
export function openLatestStream<T>(onEnd: () => void): LatestStream<T> {
  let waiting: T | undefined
  function take(): T | undefined {
    const value = waiting
    waiting = undefined
    return value
  }
  const { iterator, hand, hasEnded } = openPullStream(take, () => {
    waiting = undefined
    onEnd()
  })
  return {
    iterator,
    push(value) {
      if (hasEnded()) return
      waiting = value
      hand()
    },
  }
}
