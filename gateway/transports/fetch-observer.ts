/**
 * Wraps transports to observe every fetch of a plan. It counts and times fetches by subgraph, makes a span if tracing is on, and notes
 * the fetch in the request's context if the client asked for the plan (`extensions.plan`, in development).
 */
import { Histogram, type Registry } from '@prometheus-io/client'
import { isPromise, isRecord } from '../execution/run.ts'
import type { Traced, Tracing } from '../request/tracing.ts'
import type { CompiledFetch, FetchOperation, FetchResult, FetchVariables, Transport } from './transport.ts'

/** A fetch in `extensions.plan`. Times are in milliseconds; `startMs` counts from the first fetch of the operation. */
export type FetchNote = {
  subgraph: string
  kind: FetchOperation['kind']
  operation: string
  /** Representations in the fetch. Absent for fetches of root fields. */
  entities?: number
  startMs: number
  tookMs: number
  errors: number
}

/** The parts of a request's context that the observer uses. */
export type ObservedContext = Traced & { plan?: { startedAt: number; fetches: FetchNote[] } | undefined }

const SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export function makeObserver(registry: Registry, tracing: Tracing | undefined): (subgraph: string, transport: Transport) => Transport {
  const seconds = new Histogram({
    name: 'tidemark_subgraph_fetch_seconds',
    help: 'Fetches of plans, by subgraph, kind and outcome (ok, errors, failed), in seconds.',
    labelNames: ['subgraph', 'kind', 'outcome'],
    buckets: SECONDS,
    registers: [registry],
  })

  return function observe(subgraph, transport) {
    return { ...transport, compile: (operation) => observeFetch(subgraph, operation, transport.compile(operation)) }
  }

  function observeFetch(subgraph: string, operation: FetchOperation, fetch: CompiledFetch): CompiledFetch {
    const { kind, text } = operation

    function watched(
      context: ObservedContext,
      variables: FetchVariables,
      call: () => FetchResult | Promise<FetchResult>,
    ): FetchResult | Promise<FetchResult> {
      const startedAt = performance.now()
      const span = tracing?.beginFetch(subgraph, kind, context.trace)
      const end = (errors: number, failure?: unknown): void => {
        const tookMs = performance.now() - startedAt
        seconds.observe({ subgraph, kind, outcome: failure === undefined ? (errors > 0 ? 'errors' : 'ok') : 'failed' }, tookMs / 1_000)
        span?.end(errors, failure)
        if (context.plan !== undefined) note(context.plan, variables, startedAt, tookMs, failure === undefined ? errors : 1)
      }
      const taken = (result: FetchResult): FetchResult => {
        end(result.errors?.length ?? 0)
        return result
      }
      const failed = (thrown: unknown): never => {
        end(0, thrown)
        throw thrown
      }
      let result: FetchResult | Promise<FetchResult>
      try {
        result = call()
      } catch (thrown) {
        return failed(thrown)
      }
      return isPromise(result) ? result.then(taken, failed) : taken(result)
    }

    function note(
      { startedAt: first, fetches }: NonNullable<ObservedContext['plan']>,
      variables: FetchVariables,
      startedAt: number,
      tookMs: number,
      errors: number,
    ) {
      const lists = Object.values(variables).filter(isRepresentations)
      const entities = lists.length === 0 ? undefined : lists.reduce((sum, list) => sum + list.length, 0)
      const round = (ms: number): number => Math.round(ms * 1_000) / 1_000
      fetches.push({
        ...{ subgraph, kind, operation: text },
        ...(entities === undefined ? {} : { entities }),
        ...{ startMs: round(startedAt - first), tookMs: round(tookMs), errors },
      })
    }

    const { run, runEscaped, subscribe } = fetch
    return {
      run: (variables, context: object & ObservedContext) => watched(context, variables, () => run(variables, context)),
      ...(runEscaped && {
        runEscaped: (variables: FetchVariables, context: object & ObservedContext) =>
          watched(context, variables, () => runEscaped(variables, context)),
      }),
      subscribe,
    }
  }
}

function isRepresentations(value: unknown): value is unknown[] {
  return Array.isArray(value) && isRecord(value[0]) && '__typename' in value[0]
}
