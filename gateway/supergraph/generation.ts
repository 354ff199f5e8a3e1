/**
 * The life of one engine in a process whose supergraph may change. What it prepares is counted while it runs, so that an
 * engine that was replaced is given back when the last request it began has been answered, and not before: a plan of
 * three waves that began on it must find its subgraphs reachable in the third.
 *
 * Subscriptions are kept with their text, and with who asks. When the graph changes, each goes on if the new graph still
 * allows it and denies this viewer nothing that was his until now, on the plan it was opened with; otherwise it gets one
 * last event with the reason, and ends.
 */
import type { GraphQLError } from 'graphql'
import type { Viewer } from '../../core/viewer.ts'
import type { PreparedOperation } from '../operation/engine.ts'
import { makeEndableStream, type Results } from './endable-stream.ts'

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

  function followed(results: Results, opened: OpenStream): Results {
    const endable = makeEndableStream(results, () => {
      streams.delete(stream)
      done()
    })
    const stream: Stream = {
      ...opened,
      end(errors) {
        streams.delete(stream)
        endable.end({ errors })
      },
    }
    active += 1
    streams.add(stream)
    return endable.results
  }
}
