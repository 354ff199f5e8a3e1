/** A stream of results that the process can end with its own last result. */
import type { ExecutionResult } from 'graphql'

export type Results = AsyncIterableIterator<ExecutionResult>

export type EndableStream = {
  readonly results: Results
  /** Ends the source. The reader gets `result`, and then the end of the stream. */
  end(result: ExecutionResult): void
}

/**
 * `closed` is called once, when the reader has seen the end. The stream does not race promises: a promise that never settles would keep
 * every event in memory.
 */
export function makeEndableStream(source: Results, closed: () => void): EndableStream {
  let open = true
  let last: ExecutionResult | undefined
  let wake: (() => void) | undefined

  function close(): IteratorReturnResult<undefined> {
    if (open) closed()
    open = false
    return { done: true, value: undefined }
  }

  function lastStep(result: ExecutionResult): IteratorResult<ExecutionResult> {
    close()
    return { done: false, value: result }
  }

  const results: Results = {
    next() {
      if (!open) return Promise.resolve(close())
      if (last !== undefined) return Promise.resolve(lastStep(last))
      return new Promise((resolve, reject) => {
        wake = () => resolve(lastStep(last ?? {}))
        source.next().then(
          (step) => {
            if (last !== undefined) return
            wake = undefined
            resolve(step.done === true ? close() : step)
          },
          (error: unknown) => {
            if (last !== undefined) return
            close()
            reject(error)
          },
        )
      })
    },
    async return() {
      close()
      await source.return?.()
      return { done: true, value: undefined }
    },
    async throw(error: unknown) {
      close()
      await source.return?.()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }

  return {
    results,
    end(result) {
      last = result
      source.return?.().catch(() => {})
      wake?.()
    },
  }
}
