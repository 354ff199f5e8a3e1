/**
 * The life of one engine in a process whose supergraph may change. The generation counts the operations of its engine while they run. A
 * replaced engine is released when its last request has been answered: the third wave of a plan still needs its subgraphs.
 *
 * The generation keeps subscriptions with their text and their viewer. After a change of the graph, a subscription continues on its old
 * plan if the new graph still allows it and denies the viewer no further field. Otherwise it gets a last event with the reason, and
 * ends.
 */
import type { GraphQLError } from 'graphql'
import type { Viewer } from '../../core/viewer.ts'
import type { PreparedOperation } from '../operation/prepared-operation.ts'
import { makeEndableStream, type Results } from './endable-stream.ts'

export type Generation = {
  /** Wraps an operation so that it counts while it runs. For `EngineOptions.decorate`. */
  decorate(prepared: PreparedOperation, query: string, operationName: string | undefined): PreparedOperation
  /** Requests and subscriptions under way. */
  inUse(): number
  /** Subscriptions under way. */
  streams(): number
  /** Ends each subscription for which `refuse` returns errors. Returns their number. */
  endStreams(refuse: (stream: OpenStream) => readonly GraphQLError[] | undefined): number
  /** `listener` is called when the last running operation ends. */
  onIdle(listener: () => void): void
}

/** A running subscription: its operation, its text and its viewer. */
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
