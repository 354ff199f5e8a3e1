/** The results of a subscription as a client gets them. */
import type { ExecutionResult } from 'graphql'
import type { RequestContext } from '../operation/prepared-operation.ts'
import { withDegraded } from './degraded.ts'
import { formatResult, type FormatError } from './error-format.ts'
import type { Metrics } from './metrics.ts'

export function isStream(
  result: ExecutionResult | AsyncIterableIterator<ExecutionResult>,
): result is AsyncIterableIterator<ExecutionResult> {
  return Symbol.asyncIterator in result
}

/**
 * The stream with its results formatted. It counts as open until it ends. It is not an async generator function: the `return()` of a
 * generator waits for a pending `next()`, so a stream without events could never be closed. A store that was missing is reported once, with
 * the next event.
 */
export function subscriptionStream(
  stream: AsyncIterableIterator<ExecutionResult>,
  metrics: Metrics,
  formatError: FormatError,
  context: RequestContext,
): AsyncGenerator<ExecutionResult, void, void> {
  let open = true
  metrics.subscriptionOpened()
  function ended(): IteratorReturnResult<void> {
    if (open) metrics.subscriptionClosed()
    open = false
    return { done: true, value: undefined }
  }
  return {
    async next() {
      if (!open) return ended()
      try {
        const step = await stream.next()
        if (step.done === true) return ended()
        const value = withDegraded(formatResult(step.value, formatError), context)
        context.degraded?.clear()
        return { done: false, value }
      } catch (error) {
        ended()
        throw formatError(error, 'field')
      }
    },
    async return() {
      ended()
      await stream.return?.()
      return { done: true, value: undefined }
    },
    async throw(error: unknown) {
      ended()
      await stream.return?.()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
    async [Symbol.asyncDispose]() {
      await this.return()
    },
  }
}
