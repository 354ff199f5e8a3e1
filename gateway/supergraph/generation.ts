/**
 * The life of one engine in a process whose supergraph may change. What it prepares is counted while it runs, so that an
 * engine that was replaced is given back when the last request it began has been answered, and not before: a plan of
 * three waves that began on it must find its subgraphs reachable in the third.
 *
 * Subscriptions are kept with their text, and with who asks. When the graph changes, each goes on if the new graph still
 * allows it and denies this viewer nothing that was his until now, on the plan it was opened with; otherwise it gets one
 * last event with the reason, and ends.
 */
import type { ExecutionResult, GraphQLError } from 'graphql'
import type { Viewer } from '../../core/viewer.ts'
import type { PreparedOperation } from '../operation/engine.ts'

export type Generation = {
  /** An operation that counts while it runs. For `EngineOptions.decorate`. */
  decorate(prepared: PreparedOperation, query: string, operationName: string | undefined): PreparedOperation
  /** Requests and subscriptions under way. */
  inUse(): number
  /** Subscriptions under way. */
  streams(): number
  /** Ends each subscription for which `refuse` has errors; returns how many. */
  endStreams(refuse: (stream: OpenStream) => readonly GraphQLError[] | undefined): number
  /** Calls `listener` whenever nothing is under way any more. */
  onIdle(listener: () => void): void
}

/** A subscription under way: what was prepared for whom, from which text. */
export type OpenStream = {
  readonly query: string
  readonly operationName: string | undefined
  readonly prepared: PreparedOperation
  readonly viewer: Viewer | undefined
}

type Stream = OpenStream & { end(errors: readonly GraphQLError[]): void }
type Results = AsyncIterableIterator<ExecutionResult>

export function makeGeneration(): Generation {
  const streams = new Set<Stream>()
  let active = 0
  let idle = () => {}

  function done(): void {
    active -= 1
    if (active === 0) idle()
  }

  async function counted<T>(run: () => Promise<T>): Promise<T> {
    active += 1
    try {
      return await run()
    } finally {
      done()
    }
  }

  return {
    decorate(prepared, query, operationName) {
      const { executeToJson } = prepared
      return {
        ...prepared,
        execute: (variables, context, gate) => counted(() => prepared.execute(variables, context, gate)),
        ...(executeToJson === undefined
          ? {}
          : { executeToJson: (variables, context, gate) => counted(() => executeToJson(variables, context, gate)) }),
        subscribe: (variables, context, gate) =>
          counted(async () => {
            const results = await prepared.subscribe(variables, context, gate)
            return Symbol.asyncIterator in results ? followed(results, { query, operationName, prepared, viewer: context.viewer }) : results
          }),
      }
    },
    inUse: () => active,
    streams: () => streams.size,
    endStreams(refuse) {
      let ended = 0
      for (const stream of streams) {
        const errors = refuse(stream)
        if (errors === undefined) continue
        stream.end(errors)
        ended += 1
      }
      return ended
    },
    onIdle(listener) {
      idle = listener
    },
  }

  /** The same results, which can be ended from here. No race of promises: one that never settles would keep every event. */
  function followed(results: Results, opened: OpenStream): Results {
    let open = true
    let last: ExecutionResult | undefined
    let wake: (() => void) | undefined
    const stream: Stream = {
      ...opened,
      end(errors) {
        streams.delete(stream)
        last = { errors }
        results.return?.().catch(() => {})
        wake?.()
      },
    }
    active += 1
    streams.add(stream)

    function close(): IteratorReturnResult<undefined> {
      streams.delete(stream)
      if (open) done()
      open = false
      return { done: true, value: undefined }
    }
    function lastStep(result: ExecutionResult): IteratorResult<ExecutionResult> {
      close()
      return { done: false, value: result }
    }
    return {
      next() {
        if (!open) return Promise.resolve(close())
        if (last !== undefined) return Promise.resolve(lastStep(last))
        return new Promise((resolve, reject) => {
          wake = () => resolve(lastStep(last ?? {}))
          results.next().then(
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
        await results.return?.()
        return { done: true, value: undefined }
      },
      async throw(error: unknown) {
        close()
        await results.return?.()
        throw error
      },
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }
}
