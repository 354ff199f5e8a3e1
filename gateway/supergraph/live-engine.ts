/**
 * An engine that can be replaced while it serves. The live engine has the functions of the current engine, and `swap` replaces them at
 * once. Callers must therefore keep the live engine and none of its functions. Requests that were prepared before end on their old engine
 * (generation.ts). An engine without running operations is released.
 *
 *   1: prepare → operation of A        2: swap to B        3: execute the operation of A
 *
 * Between 1 and 3 the operation is not counted, for example while a rate limit is asked. An engine is therefore released `lingerMs`
 * after its replacement at the earliest.
 */
import { GraphQLError } from 'graphql'
import type { Clock, Timer } from '../../core/clock.ts'
import type { Engine, ClosableEngine } from '../operation/engine.ts'
import type { Generation, OpenStream } from './generation.ts'
import { clientError } from '../execution/subgraph-errors.ts'

export type Candidate = {
  readonly engine: ClosableEngine
  readonly generation: Generation
  /** Releases the resources of this engine, such as connections. Called once, when no operation runs on it. */
  release(): void
}

export type LiveEngine = Engine & {
  /** Operations are prepared by this engine from now on. Returns how many subscriptions it ended and how many continue. */
  swap(next: Candidate): { readonly ended: number; readonly kept: number }
  /** Engines that are not released yet, including the current one. */
  engines(): number
  /** Releases all engines. No operation may be running. */
  close(): void
}

export type LiveEngineOptions = {
  /** Milliseconds for which a replaced engine is kept at least. Default 10000. */
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

  /** Undefined if the stream may continue. Its old plan shows only fields that the old graph did not deny. */
  function refusalsOf({ query, operationName, prepared, viewer }: OpenStream): readonly GraphQLError[] | undefined {
    const renewed = current.engine.prepare(query, operationName)
    if ('errors' in renewed) return renewed.errors.map(subscriptionEnded)
    const before = prepared.denials?.(viewer)
    const grown = [...(renewed.denials?.(viewer) ?? [])].filter(([field]) => before?.has(field) !== true)
    return grown.length === 0 ? undefined : grown.map(([, error]) => subscriptionEnded(clientError(error, undefined)))
  }

  const live: LiveEngine = {
    ...functionsOf(first.engine),
    swap(next) {
      const before = current
      current = next
      Object.assign(live, functionsOf(next.engine))
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
  return live
}

function functionsOf({ schema, prepare, prepareFor, pin }: Engine): Engine {
  return { schema, prepare, prepareFor, pin }
}

function subscriptionEnded(error: GraphQLError): GraphQLError {
  return new GraphQLError(`The graph has changed and no longer allows this subscription: ${error.message}`, {
    extensions: { ...error.extensions },
  })
}
