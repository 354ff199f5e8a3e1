/**
 * Starts the store calls of waiting lookups, at most `callsMax` at a time. A call starts after the microtasks of a turn of the event loop, so
 * requests that arrived together are in one call.
 */
export type Waiting = {
  isEmpty(): boolean
  /** Takes the next lookups from the queue, and runs their store call. Never rejects. */
  run(): Promise<void>
}

/** The returned function is to be called after each new lookup. */
export function makeDispatch(waiting: Waiting, callsMax: number): () => void {
  let callsUnderWay = 0
  let isPlanned = false

  function plan(): void {
    if (isPlanned || callsUnderWay >= callsMax || waiting.isEmpty()) return
    isPlanned = true
    setImmediate(dispatch)
  }

  function dispatch(): void {
    isPlanned = false
    callsUnderWay++
    void waiting.run().then(() => {
      callsUnderWay--
      plan()
    })
    plan()
  }

  return plan
}
