/**
 * Counts and times every call of a store, by subgraph, store, business, operation and outcome. The calls are measured at the adapter, so
 * those of requests and of jobs count alike, retries of the adapter included. A call that a breaker refuses never reaches the store and is
 * not counted.
 *
 * A single report makes several calls, and the labelled histogram of the metrics library takes more than a microsecond for each. The counts
 * are therefore plain numbers here, and become metrics at a scrape (`cli/metrics/store-call-metrics.ts`).
 */
import { isTidemarkError } from '../errors.ts'
import { saysFull, UNAVAILABLE } from './degraded.ts'

/**
 * ok: the store answered. unavailable: it did not. full: it takes no more data. failed: any other error.
 */
export const CALL_OUTCOMES = ['ok', 'unavailable', 'full', 'failed'] as const
export type CallOutcome = (typeof CALL_OUTCOMES)[number]

/** Upper bounds of the buckets, in seconds. */
export const CALL_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5] as const

export type StorePlace = {
  subgraph: string
  /** The role of the store: hot, log, records and so on. */
  store: string
  /** The name of a business with stores of its own. Empty: the common stores. */
  business: string
}

/** Calls with one outcome. `counts`: per bucket, and the last for slower calls; not cumulated. */
export type CallTimes = StorePlace & { operation: string; outcome: CallOutcome; counts: Float64Array; seconds: number }

export type StoreCalls = {
  /** The store with all calls measured. A method that returns no promise does not call the store. */
  measure<S extends object>(place: StorePlace, store: S): S
  figures(): readonly CallTimes[]
}

/** `nowMs`: a clock that is never set back. */
export function makeStoreCalls(nowMs: () => number): StoreCalls {
  const all: CallTimes[] = []

  function timesOf(place: StorePlace, operation: string): Record<CallOutcome, (ms: number) => void> {
    const recorder = (outcome: CallOutcome) => {
      let times: CallTimes | undefined
      return (ms: number): void => {
        if (times === undefined)
          all.push((times = { ...place, operation, outcome, counts: new Float64Array(CALL_SECONDS.length + 1), seconds: 0 }))
        const seconds = ms / 1_000
        let bucket = 0
        while (bucket < CALL_SECONDS.length && seconds > (CALL_SECONDS[bucket] as number)) bucket++
        times.counts[bucket] = (times.counts[bucket] as number) + 1
        times.seconds += seconds
      }
    }
    return { ok: recorder('ok'), unavailable: recorder('unavailable'), full: recorder('full'), failed: recorder('failed') }
  }

  function measured(place: StorePlace, store: object, operation: string, method: (...args: unknown[]) => unknown) {
    const times = timesOf(place, operation)
    return (...args: unknown[]): unknown => {
      const begun = nowMs()
      const answer = method.apply(store, args)
      if (!(answer instanceof Promise)) return answer
      return answer.then(
        (value: unknown) => {
          times.ok(nowMs() - begun)
          return value
        },
        (error: unknown) => {
          times[outcomeOf(error)](nowMs() - begun)
          throw error
        },
      )
    }
  }

  return {
    measure(place, store) {
      const methods = Object.entries(store).filter(([name, method]) => typeof method === 'function' && !NO_CALLS.has(name))
      return { ...store, ...Object.fromEntries(methods.map(([name, method]) => [name, measured(place, store, name, method)])) }
    },
    figures: () => all,
  }
}

/** Methods that do not ask the server. */
const NO_CALLS: ReadonlySet<string> = new Set(['close', 'partOf'])

const DOWN: ReadonlySet<string> = new Set(Object.values(UNAVAILABLE))

function outcomeOf(error: unknown): CallOutcome {
  if (saysFull(error)) return 'full'
  return isTidemarkError(error) && DOWN.has(error.code) ? 'unavailable' : 'failed'
}
