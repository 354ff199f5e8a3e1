/**
 * An engine that can be replaced while it serves. To the front it is an engine like any other: whatever it prepares
 * comes from the newest one. `swap` puts another in its place at once; requests that were prepared before end where
 * they began (generation.ts), and an engine that nothing runs on any more is released.
 *
 *   1: prepare → operation of A        2: swap to B        3: execute the operation of A
 *
 * Between 1 and 3 nothing is counted (a rate limit may be asked for in between), so an engine is released at the earliest
 * `lingerMs` after it was replaced.
 */
import { GraphQLError } from 'graphql'
import type { Clock, Timer } from '../../core/clock.ts'
import type { Engine, MadeEngine } from '../operation/engine.ts'
import type { Generation, OpenStream } from './generation.ts'
import { clientError } from '../execution/subgraph-errors.ts'

export type Candidate = {
  readonly engine: MadeEngine
  readonly generation: Generation
  /** Gives back what only this engine needs, such as connections. Called once, when nothing runs on it any more. */
  release(): void
}

export type LiveEngine = Engine & {
  /** From now on operations are prepared by this one. Returns how many subscriptions it refused and how many go on. */
  swap(next: Candidate): { readonly ended: number; readonly kept: number }
  /** Engines not yet released, the current one included. */
  engines(): number
  /** Releases all. Nothing must be under way any more. */
  close(): void
}

export type LiveEngineOptions = {
  /** Milliseconds a replaced engine is kept at least. Default 10000. */
  readonly lingerMs?: number
}

export function makeLiveEngine(first: Candidate, clock: Clock, options: LiveEngineOptions = {}): LiveEngine {
  const { lingerMs = 10_000 } = options
  const retired = new Map<Candidate, Timer>()
  let current = first

  function retire(candidate: Candidate): void {
    const { engine, generation } = candidate
    engine.forget()
    const release = () => {
      if (generation.inUse() > 0 || !retired.delete(candidate)) return
      candidate.release()
    }
    const timer = clock.after(lingerMs, () => {
      generation.onIdle(release)
      release()
    })
    retired.set(candidate, timer)
  }

  function endRefused(): number {
    return [...retired.keys()].reduce((ended, { generation }) => ended + generation.endStreams(refusalsOf), 0)
  }

  /** Undefined if the stream may go on: on its old plan it shows what that plan's graph denied nobody. */
  function refusalsOf({ query, operationName, prepared, viewer }: OpenStream): readonly GraphQLError[] | undefined {
    const renewed = current.engine.prepare(query, operationName)
    if ('errors' in renewed) return renewed.errors.map(subscriptionEnded)
    const before = prepared.denials?.(viewer)
    const grown = [...(renewed.denials?.(viewer) ?? [])].filter(([field]) => before?.has(field) !== true)
    return grown.length === 0 ? undefined : grown.map(([, error]) => subscriptionEnded(clientError(error, undefined)))
  }

  return {
    get schema() {
      return current.engine.schema
    },
    prepare: (query, operationName) => current.engine.prepare(query, operationName),
    prepareFor: (gate, query, operationName) => current.engine.prepareFor(gate, query, operationName),
    pin: (query, operationName) => current.engine.pin(query, operationName),
    swap(next) {
      const before = current
      current = next
      retire(before)
      const ended = endRefused()
      return { ended, kept: [...retired.keys()].reduce((kept, { generation }) => kept + generation.streams(), 0) }
    },
    engines: () => retired.size + 1,
    close() {
      for (const [candidate, timer] of retired) {
        timer.cancel()
        candidate.release()
      }
      retired.clear()
      current.release()
    },
  }
}

function subscriptionEnded(error: GraphQLError): GraphQLError {
  return new GraphQLError(`The graph has changed and no longer allows this subscription: ${error.message}`, {
    extensions: { ...error.extensions },
  })
}
